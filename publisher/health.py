"""Is this publisher alive, and is it able to do its work: what the probes are told, and what the metrics count."""

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kamaji_events.metrics import NAMESPACE
from publisher.buffer import ChangeBuffer
from publisher.pipeline import Pipeline
from publisher.watches import Watches

__all__ = ["Condition", "PublisherCollector"]


class Condition:
    """What is known about the service's parts; each has a problem in one line, or none."""

    def __init__(self, watches: Watches, pipeline: Pipeline) -> None:
        self._watches = watches
        self._pipeline = pipeline
        self.broker: str | None = "not connected to RabbitMQ yet"
        """Why nothing can be published, None while a leader could publish."""
        self.leading = False
        """True while this replica leads; a standby that could lead is ready too."""

    def live(self) -> str | None:
        """A problem that only a restart can mend: a watch that does nothing at all."""
        stuck = (reflector.stuck for reflector in self._watches.reflectors.values())
        return next((reason for reason in stuck if reason), None)

    def ready(self) -> str | None:
        """Why this replica neither publishes nor could take over; None when it does or could."""
        if self.broker is not None:
            return self.broker
        if not self.leading:
            return None
        problems = (self._pipeline.problem, self._watches.problem)
        return "; ".join(problem for problem in problems if problem) or None


class PublisherCollector(Collector):
    """Reads the figures when Prometheus asks, so that nothing is counted twice or on the hot path."""

    def __init__(self, condition: Condition, pipeline: Pipeline, watches: Watches, buffer: ChangeBuffer) -> None:
        self._condition = condition
        self._pipeline = pipeline
        self._watches = watches
        self._buffer = buffer

    def collect(self) -> list[Metric]:
        """Every figure of now."""
        pipeline = self._pipeline
        return [
            _gauge("leading", "1 while this replica leads.", float(self._condition.leading)),
            _gauge("ready", "1 while it leads or could.", float(self._condition.ready() is None)),
            _gauge("term", "The leadership's number.", pipeline.term),
            _counter("events", "Events published, confirmed.", pipeline.published),
            _counter("changes", "Changes judged.", pipeline.judged),
            _gauge("buffer_bytes", "Watch lines waiting to be judged.", self._buffer.bytes),
            _gauge("outbox_batches", "Batches decided and not yet safe.", pipeline.waiting),
            *self._fleet(),
            *self._watch(),
        ]

    def _fleet(self) -> list[Metric]:
        family = GaugeMetricFamily(
            f"{NAMESPACE}_publisher_objects", "Objects known, by kind and status.", labels=["kind"]
        )
        for name, count in self._pipeline.counts().items():
            if isinstance(count, int):
                family.add_metric([name], count)
        return [family]

    def _watch(self) -> list[Metric]:
        heard = GaugeMetricFamily(
            f"{NAMESPACE}_publisher_watch_last_heard_seconds", "When the server last sent a byte.", labels=["resource"]
        )
        healthy = GaugeMetricFamily(
            f"{NAMESPACE}_publisher_watch_healthy",
            "1 while nothing keeps the watch from being read.",
            labels=["resource"],
        )
        counted = CounterMetricFamily(
            f"{NAMESPACE}_publisher_watch", "What the watch met, by name.", labels=["resource", "what"]
        )
        for resource, reflector in self._watches.reflectors.items():
            heard.add_metric([resource], reflector.last_heard or 0.0)
            healthy.add_metric([resource], float(reflector.problem is None))
            for what, value in _counters(reflector.stats):
                counted.add_metric([resource, what], value)
        return [heard, healthy, counted]


def _counters(stats: object) -> list[tuple[str, float]]:
    names = getattr(type(stats), "__dataclass_fields__", {})
    values = ((name, getattr(stats, name)) for name in names if name != "heard")
    return [(name, float(value)) for name, value in values if isinstance(value, int | float)]


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{NAMESPACE}_publisher_{name}", meaning, value=value)


def _counter(name: str, meaning: str, value: float) -> Metric:
    return CounterMetricFamily(f"{NAMESPACE}_publisher_{name}", meaning, value=value)
