"""The alarm when a publisher falls silent: no events may mean that nothing happens, or that nobody watches.

The publisher that leads says ``state.alive`` each minute. Whoever consumes notices when it stops.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from uuid import uuid4

from consumers.alarm import Alarm
from consumers.metrics import ConsumerMetrics
from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.rebinding import REBIND, kept_bound
from kamaji_events.broker.topology import Binding, Layout, Queue, Topology
from kamaji_events.errors import EnvelopeError
from kamaji_events.event import Event

__all__ = ["Heartbeats", "hear", "listen"]

_log = logging.getLogger(__name__)

_KEYS = ("publisher.state.alive.#", "publisher.state.leading.#")
_PREFETCH = 100


class Heartbeats:
    """What is known of each cluster's publisher; outlives sessions with the broker.

    Args:
        limit: seconds of silence that raise the alarm.
        metrics: where it shows.
        clusters: those that must be heard from the start; others count from the first time they are heard.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        limit: float,
        metrics: ConsumerMetrics,
        *,
        clusters: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limit = limit
        self._metrics = metrics
        self._clock = clock
        self._last: dict[str, float] = dict.fromkeys(clusters, clock())
        self._silent: set[str] = set()

    @property
    def silent(self) -> frozenset[str]:
        """Clusters whose publisher is silent."""
        return frozenset(self._silent)

    def heard(self, cluster: str) -> None:
        """Its publisher said that it is alive."""
        now = self._clock()
        self._last[cluster] = now
        self._metrics.publisher_last.labels(cluster).set(now)
        self._metrics.publisher_silent.labels(cluster).set(0)
        if cluster in self._silent:
            self._silent.discard(cluster)
            _log.warning("the publisher of cluster %s is heard again", cluster, extra={"cluster": cluster})

    def silence(self, cluster: str) -> float:
        """Seconds since it was heard, or since it was first expected."""
        return self._clock() - self._last[cluster]

    def connected(self) -> None:
        """Nothing could be heard until now: silence is counted from here on."""
        now = self._clock()
        self._last = dict.fromkeys(self._last, now)

    def check(self) -> frozenset[str]:
        """Raise the alarm for whoever has been silent too long; clusters that fell silent since the last check."""
        now = self._clock()
        late = {cluster for cluster, last in self._last.items() if now - last > self._limit} - self._silent
        for cluster in late:
            self._silent.add(cluster)
            self._metrics.publisher_silent.labels(cluster).set(1)
            _log.error(
                "the publisher of cluster %s has been silent for %.0f s: nobody may be watching it",
                cluster,
                self.silence(cluster),
                extra={"cluster": cluster},
            )
        return frozenset(late)


async def hear(broker: Broker, layout: Layout) -> Topology:
    """Bind a queue of one's own, which ends with the connection, to what publishers say of themselves."""
    queue = Queue(f"{layout.prefix}.heartbeats.{uuid4().hex}", exclusive=True)
    bindings = tuple(Binding(layout.events, queue.name, key) for key in _KEYS)
    heard = Topology(queues=(queue,), bindings=bindings)
    await declare.apply(broker, heard)
    return heard


async def listen(heartbeats: Heartbeats, alarm: Alarm, broker: Broker, heard: Topology, *, look: float) -> None:
    """Hear publishers for ever.

    Args:
        heartbeats: told of each.
        alarm: told of silence and of its end.
        broker: the connection.
        heard: from ``hear``.
        look: seconds between checks, and until the queue is bound again.

    Raises:
        BrokerError: the connection was lost.
    """
    heartbeats.connected()
    async with (
        broker.consume(heard.queues[0].name, _PREFETCH) as consumer,
        kept_bound(broker, heard.bindings, every=min(look, REBIND)),
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(_check(heartbeats, alarm, look))
        async for incoming in consumer:
            await incoming.ack()
            try:
                cluster = Event.from_bytes(incoming.body).cluster
            except EnvelopeError:
                continue
            if cluster:
                heartbeats.heard(cluster)
                await alarm.heard(cluster)


async def _check(heartbeats: Heartbeats, alarm: Alarm, look: float) -> None:
    while True:
        await asyncio.sleep(look)
        for cluster in heartbeats.check():
            await alarm.silent(cluster, heartbeats.silence(cluster))
