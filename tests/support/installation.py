"""A whole publisher for tests: a simulated cluster, a place on a real broker, replicas that can be killed, and ears."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.topology import Layout, Topology
from kamaji_events.errors import BrokerError
from kamaji_events.event import Event
from kamaji_events.simulator import Simulator
from publisher.journal.policy import JournalPolicy
from publisher.lifecycle.policy import Policy
from publisher.run import Service
from publisher.settings import PublisherSettings
from publisher.watch.policy import WatchPolicy
from tests.support.cut_proxy import Proxy

__all__ = [
    "CLUSTER",
    "GRACE",
    "NEVER",
    "Ears",
    "Installation",
    "Replica",
    "eventually",
    "installation",
    "topology",
    "unclocked",
]

CLUSTER = "eu-1"
"""The management cluster's name."""
NEVER = 86_400.0
"""Seconds of every limit and hold: longer than any test, so that no event hangs on how fast a machine is."""
_OPERATIONS = ("create", "upgrade", "migrate", "scale", "sleep", "wake", "rotation", "delete")
_QUICK = WatchPolicy(backoff_base=0.05, backoff_most=0.3, missing_most=0.2, stable=1.0)
GRACE = 1.0
"""Seconds that subscribers have to bind again."""
_PATIENCE, _STEP = 40.0, 0.02
_PAUSE = 0.1


def unclocked() -> Policy:
    """The diff's policy under which time alone says nothing: what a replica of an ``Installation`` goes by."""
    return Policy(limits=dict.fromkeys(_OPERATIONS, NEVER), outage_hold=NEVER)


async def eventually(met: Callable[[], object], what: Callable[[], object] = lambda: "") -> None:
    """Look again and again until something holds that nobody tells of."""
    try:
        async with asyncio.timeout(_PATIENCE):
            while not met():  # noqa: ASYNC110 - health has no bell
                await asyncio.sleep(_STEP)
    except TimeoutError as error:
        raise AssertionError(f"it did not come to pass: {what()}") from error


class Ears:
    """Hears every event that the exchange gets, copies included, whatever becomes of the broker.

    Args:
        url: the broker.
        queue: bound to everything.
    """

    def __init__(self, url: str, queue: str) -> None:
        self._url, self._queue = url, queue
        self.copies: list[Event] = []
        """Everything, in the order in which it came."""
        self.first: dict[str, Event] = {}
        """The first copy of each id, in order."""
        self._changed = asyncio.Event()

    async def listen(self) -> None:
        """Hear until cancelled."""
        while True:
            with suppress(BrokerError):
                async with connect(self._url, name="ears") as broker, broker.consume(self._queue, 2000) as consumer:
                    async for incoming in consumer:
                        self._take(Event.from_bytes(incoming.body))
                        await incoming.ack()
            await asyncio.sleep(_PAUSE)

    def _take(self, event: Event) -> None:
        self.copies.append(event)
        self.first.setdefault(event.id, event)
        self._changed.set()

    async def until(self, met: Callable[[], object], patience: float = _PATIENCE) -> None:
        """Wait until something holds that events bring about."""
        try:
            async with asyncio.timeout(patience):
                while not met():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise AssertionError(f"not heard; the last of {len(self.first)}: {self._tail()}") from error

    def _tail(self) -> list[str]:
        return [f"{event.subject} {event.name}" for event in list(self.first.values())[-15:]]

    def of(self, subject: str) -> list[Event]:
        """The events of one object's name, or of one instance, in order."""
        return [event for event in self.first.values() if event.subject == subject]

    def names(self, subject: str) -> list[str]:
        """The same by their two words."""
        return [event.name for event in self.of(subject)]

    def tenants(self) -> list[Event]:
        """The events of all TenantControlPlanes, in order."""
        return [event for event in self.first.values() if event.kind == "tenantcontrolplane"]

    def check(self) -> None:
        """What always holds: copies are the same bytes, each object's sequence is gapless, terms never interleave."""
        assert [event.id for event in self.copies if event.raw != self.first[event.id].raw] == []
        counted: dict[tuple[str, str], list[int]] = {}
        for event in self.first.values():
            if event.sequence and event.kind in {"tenantcontrolplane", "datastore"}:
                epoch, _, number = event.sequence.partition("-")
                counted.setdefault((str(event.partitionkey), epoch), []).append(int(number))
        assert {key: told for key, told in counted.items() if told != [*range(1, len(told) + 1)]} == {}
        terms = [event.term for event in self.first.values() if event.term is not None]
        assert terms == sorted(terms)

    async def synced(self, instance: str, times: int = 1) -> None:
        """Wait until an instance listed both kinds that many times."""
        await self.until(lambda: self.names(instance).count("sync.completed") >= 2 * times)

    async def told(self, subject: str, name: str, times: int = 1) -> None:
        """Wait until an object's event was heard."""
        await self.until(lambda: self.names(subject).count(name) >= times)


class Replica:
    """One publisher process, played by tasks of this one; ``async with installation.replica() as replica``."""

    def __init__(self, settings: PublisherSettings, layout: Layout, policy: WatchPolicy, proxy: Proxy) -> None:
        self.proxy = proxy
        """Between it and the broker."""
        journal = JournalPolicy(
            timeout=settings.confirm_timeout, patience=1.0, settle=0.0, idle=0.2, look=0.2, grace=GRACE
        )
        self.service = Service(settings, layout=layout, watch_policy=policy, journal_policy=journal)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.service.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End it as SIGTERM does; raises what it ended by itself."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def kill(self) -> None:
        """End it as SIGKILL does: its connections are reset, nothing is finished."""
        task, self._task = self._task, None
        assert task is not None
        self.proxy.cut()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def leading(self) -> None:
        """Wait until it leads; raises what it ended by instead."""
        assert self._task is not None
        leads = asyncio.create_task(self.service.leads.wait())
        await asyncio.wait([leads, self._task], return_when=asyncio.FIRST_COMPLETED)
        leads.cancel()
        if self._task.done():
            self._task.result()

    async def ended(self) -> BaseException | None:
        """Wait until it ends by itself, and give what it raised."""
        task, self._task = self._task, None
        assert task is not None
        await asyncio.wait([task])
        return task.exception()

    def syncs(self) -> int:
        """Lists that this process completed."""
        return sum(reflector.stats.syncs for reflector in self.service._watches.reflectors.values())

    def problem(self) -> str:
        """What readiness says is wrong; empty when nothing is."""
        return self.service.condition.ready() or ""


@dataclass
class Installation:
    """Where replicas run."""

    sim: Simulator
    url: str
    layout: Layout
    folder: Path
    ears: Ears
    kubeconfigs: int = field(default=0)

    @asynccontextmanager
    async def replica(
        self, name: str = "a", *, sim: Simulator | None = None, policy: WatchPolicy = _QUICK, **settings: Any
    ) -> AsyncIterator[Replica]:
        """A replica at work, stopped at the end unless it was killed."""
        self.kubeconfigs += 1
        kubeconfig = (sim or self.sim).kubeconfig(self.folder / f"kubeconfig-{self.kubeconfigs}")
        async with Proxy.to(self.url) as proxy:
            given: dict[str, Any] = {"amqp_url": proxy.url, "cluster": CLUSTER, "instance": name}
            given |= {"kubeconfig": kubeconfig, "health_host": "127.0.0.1", "health_port": 0, "outage_hold": NEVER}
            given |= {"limits": dict.fromkeys(_OPERATIONS, NEVER), "confirm_timeout": 5.0, "alive_interval": NEVER}
            replica = Replica(PublisherSettings(**(given | settings)), self.layout, policy, proxy)
            async with replica:
                yield replica


def topology(layout: Layout, keys: Iterable[str] = ("#",)) -> Topology:
    """Exchange, history, journal, and the queue that hears everything, as a publisher declares them."""
    # the age as a publisher writes it, which finds its own queues then
    age = f"{7 * 24 * 3600}s"
    return (
        layout.exchange_topology(history_age=age)
        + layout.journal_topology(CLUSTER)
        + layout.client_topology("ears", keys)
    )


@asynccontextmanager
async def installation(
    sim: Simulator, url: str, layout: Layout, folder: Path, *, more: Topology | None = None
) -> AsyncIterator[Installation]:
    """Exchange, history and journal, declared before anybody leads, with ears; gone at the end."""
    parts = topology(layout) + (more or Topology())
    async with connect(url, name="test") as broker:
        await declare.apply(broker, parts)
    ears = Ears(url, layout.client_queue("ears"))
    listening = asyncio.create_task(ears.listen())
    try:
        yield Installation(sim, url, layout, folder, ears)
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        async with connect(url, name="test") as broker:
            await declare.delete(broker, parts)
