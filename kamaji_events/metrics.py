"""Prometheus metrics: one registry a process, one prefix, and what every process tells of itself."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from kamaji_events import __version__

__all__ = ["LATENCY_BUCKETS", "NAMESPACE", "Metrics"]

NAMESPACE = "kamaji_events"
"""First word of every metric."""

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds: from an event on loopback to a receiver that takes minutes."""


class Metrics:
    """Makes the metrics of one part of the house in its registry.

    Args:
        part: ``publisher`` or ``consumers``: second word of the names.
        registry: where they go; a fresh one with the process's own metrics by default.
    """

    def __init__(self, part: str, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else _process_registry()
        self._part = part

    def counter(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Counter:
        """``kamaji_events_<part>_<name>_total``: it only grows."""
        return Counter(name, meaning, labels, namespace=NAMESPACE, subsystem=self._part, registry=self.registry)

    def gauge(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Gauge:
        """``kamaji_events_<part>_<name>``: it goes up and down."""
        return Gauge(name, meaning, labels, namespace=NAMESPACE, subsystem=self._part, registry=self.registry)

    def histogram(
        self, name: str, meaning: str, labels: Sequence[str] = (), *, buckets: Sequence[float] = LATENCY_BUCKETS
    ) -> Histogram:
        """``kamaji_events_<part>_<name>``: a spread; seconds unless ``buckets`` says otherwise."""
        return Histogram(
            name,
            meaning,
            labels,
            namespace=NAMESPACE,
            subsystem=self._part,
            buckets=buckets,
            registry=self.registry,
        )


def _process_registry() -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=True)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    info = Gauge(
        "build_info", "Always 1; the label tells the release.", ["version"], namespace=NAMESPACE, registry=registry
    )
    info.labels(__version__).set(1)
    return registry
