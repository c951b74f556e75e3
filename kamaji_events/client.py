"""The Python client: ``async for event in subscribe(url, events=["upgrade.*"])``.

It mends its connection by itself and fills the gap from the history, so that a loop sees every event once, in
order, for as long as it runs; an event that the loop had taken but not finished may come a second time.
"""

import asyncio
import logging
import random
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self
from uuid import uuid4

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.consume import Consumer, Incoming
from kamaji_events.broker.history import Replay
from kamaji_events.broker.rebinding import REBIND, kept_bound
from kamaji_events.broker.topology import Exchange, Layout, Topology
from kamaji_events.errors import BrokerUnavailable, EnvelopeError, SettingsError, TopologyMissing
from kamaji_events.event import Event
from kamaji_events.filter import Filter

__all__ = ["Subscription", "subscribe"]

_log = logging.getLogger(__name__)

_PREFETCH = 200
_REMEMBERED = 50_000
"""Ids of events that were given out already; as many as a busy exchange sees in ``_MARGIN`` seconds."""
_MARGIN = 60.0
"""Seconds that a gap is taken to have begun before it was noticed: a dead peer is noticed within 48."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class _Seen:
    """The last so many events: CloudEvents are told apart by source and id together."""

    def __init__(self) -> None:
        self._ids: OrderedDict[tuple[str, str], None] = OrderedDict()

    def __contains__(self, event: Event) -> bool:
        return (event.source, event.id) in self._ids

    def add(self, event: Event) -> None:
        self._ids[event.source, event.id] = None
        if len(self._ids) > _REMEMBERED:
            self._ids.popitem(last=False)


def _seconds(since: float | str | None) -> float | None:
    if not isinstance(since, str):
        return since
    from kamaji_events.duration import seconds  # noqa: PLC0415 - pydantic is slow to import, and few need it here

    try:
        return float(str(seconds(since)))
    except ValueError as error:
        raise SettingsError(f"since {since!r}: {error}") from error


class Subscription:
    """An asynchronous iterator of events; see ``subscribe``. Usable with ``async with``, closed by ``aclose``."""

    def __init__(
        self,
        url: str,
        wanted: Filter,
        *,
        name: str | None = None,
        since: float | None = None,
        layout: Layout | None = None,
        rebind: float = REBIND,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        # the generator must not lead back here: dropped by a loop that was left, it is then closed at once
        self._session = _Session(
            url, wanted, name=name, since=since, layout=layout or Layout(), rebind=rebind, sleep=sleep
        )
        self._events = self._session.events()

    @property
    def connected(self) -> bool:
        """True while it is connected and has caught up with the history."""
        return self._session.connected

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop: the connection is closed, and a live subscription's queue is gone with it."""
        await self._events.aclose()


class _Session:
    """What a subscription does, in one generator: nested ones would be closed in no order when it is dropped."""

    def __init__(
        self,
        url: str,
        wanted: Filter,
        *,
        name: str | None,
        since: float | None,
        layout: Layout,
        rebind: float,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._url = url
        self._wanted = wanted
        self._name = name
        self._layout = layout
        self._rebind = rebind
        self._sleep = sleep
        self._seen = _Seen()
        self._from = None if since is None else time.monotonic() - since
        self._began: float | None = None
        self.connected = False

    async def events(self) -> AsyncGenerator[Event, None]:
        """Connection after connection; the first one has to succeed."""
        pause = _FIRST_PAUSE
        while True:
            try:
                async with connect(self._url, name="kamaji-events subscribe") as broker:
                    mine = await self._declare(broker)
                    async with (
                        broker.consume(mine.queues[0].name, _PREFETCH) as live,
                        kept_bound(broker, mine.bindings, every=self._rebind),
                    ):
                        async with _Past(self._url, self._layout, live, self._from, self._began is None) as past:
                            async for incoming in past:
                                if (event := self._read(incoming)) is not None:
                                    yield event
                                    self._seen.add(event)
                        self._settled()
                        pause = _FIRST_PAUSE
                        async for incoming in live:
                            if (event := self._read(incoming)) is not None:
                                yield event
                                self._seen.add(event)
                            await incoming.ack()
            except (BrokerUnavailable, TopologyMissing) as error:
                if self._began is None:
                    raise
                _log.warning("the subscription is interrupted, next try in %.1f s: %s", pause, error)
            self._interrupted()
            await self._sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads reconnects, hides nothing
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _settled(self) -> None:
        self._from, self.connected = None, True
        if self._began is None:
            self._began = time.monotonic()

    def _interrupted(self) -> None:
        """A live queue is gone with its connection: what was published meanwhile is in the history."""
        self.connected = False
        if self._name is None and self._from is None and self._began is not None:
            self._from = max(time.monotonic() - _MARGIN, self._began)

    async def _declare(self, broker: Broker) -> Topology:
        """The queue, bound before anything else is read, so that nothing falls between it and the history."""
        events = Topology(exchanges=(Exchange(self._layout.events, "topic"),))
        if not await declare.exists(broker, events.exchanges[0]):
            await declare.apply(broker, events)
        keys = self._wanted.bindings()
        if self._name is not None:
            topology = self._layout.client_topology(self._name, keys)
        else:  # a new name each time: the broker may still hold the one of a connection that died silently
            topology = self._layout.live_topology(f"live-{uuid4().hex}", keys)
        await declare.apply(broker, topology)
        return topology

    def _read(self, incoming: Incoming) -> Event | None:
        """The event, unless it was given out before, is not wanted or cannot be read."""
        try:
            event = Event.from_bytes(incoming.body)
        except EnvelopeError as error:
            _log.warning("a message is no event and is skipped: %s", error, extra={"key": incoming.routing_key})
            return None
        return event if event not in self._seen and self._wanted.matches(event) else None


class _Past:
    """The part of the history that is wanted, on a connection of its own; nothing when none is."""

    def __init__(self, url: str, layout: Layout, live: Consumer, since: float | None, needed: bool) -> None:  # noqa: FBT001
        self._url = url
        self._layout = layout
        self._live = live
        self._since = since
        self._needed = needed
        self._stack = AsyncExitStack()
        self._replay: Replay | None = None

    async def __aenter__(self) -> Self:
        if self._since is None:
            return self
        try:
            await self._open(self._since)
        except TopologyMissing:
            if self._needed:
                raise
            _log.warning("there is no history: what was published during the interruption is not known")
        return self

    async def _open(self, since: float) -> None:
        async with AsyncExitStack() as stack:
            broker = await stack.enter_async_context(connect(self._url, name="kamaji-events subscribe, history"))
            ago = time.monotonic() - since
            replay = Replay(broker, self._layout.history, ago=ago, live=self._live)
            self._replay = await stack.enter_async_context(replay)
            self._stack = stack.pop_all()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        if self._replay is None:
            raise StopAsyncIteration
        return await anext(self._replay)


def subscribe(
    url: str,
    *,
    events: Iterable[str] = (),
    clusters: Iterable[str] = (),
    namespaces: Iterable[str] = (),
    labels: str = "",
    name: str | None = None,
    since: float | str | None = None,
    prefix: str = "kamaji",
) -> Subscription:
    """Iterate over events as they happen.

    ``async for event in subscribe(url, events=["upgrade.*"], namespaces=["tenants"]): ...``

    Without a ``name`` it is a live view that ends with the process. With one, a queue in the broker keeps what
    comes while nobody reads (deleted after a week without a reader); an event is acknowledged when the loop asks
    for the next one, and several processes with one name share its events.

    It reconnects by itself, with growing pauses, and reads what it missed from the history. Break out of the loop,
    or use it with ``async with`` and leave that, and it is closed.

    Args:
        url: ``amqp://user:password@host:5672/vhost``.
        events: patterns such as ``upgrade.*``, ``*.completed``, ``datastore.state.*``; none is all.
        clusters: management clusters, ``*`` may stand for any part.
        namespaces: of the objects, likewise.
        labels: a label selector as of ``kubectl -l``.
        name: of a durable subscription: 1 to 63 lower-case letters, digits or ``-``.
        since: begin so far back in the history: seconds, or a text such as ``24h``. Somewhat earlier events come,
            too, since the history is read in blocks.
        prefix: of the installation's names in the broker.

    Raises:
        FilterError: a pattern can match nothing.
        SettingsError: the URL, name or ``since`` cannot be read.
        BrokerUnavailable: from the first iteration: there is no broker. Later losses are mended.
        BrokerRefused: wrong credentials or a missing permission.
        TopologyMissing: from the first iteration: ``since`` was given and there is no history.
    """
    wanted = Filter(events=tuple(events), clusters=tuple(clusters), namespaces=tuple(namespaces), labels=labels)
    layout = Layout(prefix)
    if name is not None:
        layout.client_queue(name)
    return Subscription(url, wanted, name=name, since=_seconds(since), layout=layout)
