"""The Slack sink: messages in a channel, within Slack's limits and at its pace."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from consumers.sinks.base import Delivered, Delivery, Failed, Outcome, Throttled
from consumers.sinks.context import SinkContext
from consumers.sinks.gather import Batcher, BatchSettings
from consumers.sinks.slack.api import PATIENCE, SlackApi
from consumers.sinks.slack.blocks import message
from consumers.sinks.slack.family import Family
from consumers.sinks.slack.flood import Flood
from consumers.sinks.slack.refusal import SlackRefused
from consumers.sinks.slack.settings import SlackSettings
from consumers.sinks.slack.thread import Threads, short
from consumers.sinks.web.client import NoReply, WebClient
from kamaji_events.errors import KamajiEventsError
from kamaji_events.event import Event

__all__ = ["SlackSink"]

_FLOODS = 200
"""Kinds of news that are kept at hand; others are read from the memory again."""


class _Room:
    """One flood, one lock, and the deliveries that wait for its next update."""

    def __init__(self, flood: Flood, settings: SlackSettings) -> None:
        self.flood = flood
        self.lock = asyncio.Lock()
        self._gathered: Batcher[Event, Exception | None] = Batcher(
            BatchSettings(most=1000, wait=settings.interval, most_bytes=64 * 1024 * 1024), self._told
        )

    async def tell(self, event: Event) -> None:
        """Wait for the update that this event is part of, and share what came of it."""
        problem = await self._gathered.add(event, 0)
        if problem is not None:
            raise problem

    async def _told(self, events: Sequence[Event]) -> Sequence[Exception | None]:
        problem: Exception | None = None
        try:
            async with self.lock:
                await self.flood.tell()
        except (SlackRefused, NoReply, KamajiEventsError) as error:
            problem = error  # once for all of them: none tries again by itself
        return [problem] * len(events)


class SlackSink:
    """Says events in a channel.

    Args:
        settings: see ``SlackSettings``.
        context: the worker's; its memory keeps where things were said.
        transport: for tests; None makes the real one.
    """

    Settings = SlackSettings

    def __init__(
        self, settings: SlackSettings, context: SinkContext, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._settings = settings
        self._clock = context.clock
        self._memory = context.memory
        self._client = WebClient(settings, context, transport=transport)
        self._client.check_url((settings.webhook_url or settings.api_url).value())
        self._api = SlackApi(settings, self._client, context.clock)
        self._prefix = f"slack.{short(f'{context.subscription} {settings.channel}')}"
        self._threads = Threads(settings, self._api, self._memory, self._prefix)
        self._rooms: OrderedDict[str, _Room] = OrderedDict()
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Say the event, or bring up to date the message that it belongs to."""
        try:
            if self._settings.webhook_url is not None:
                await self._api.hook(message(delivery.event, self._settings))
            else:
                await self._tell(delivery.event)
        except SlackRefused as refused:
            return refused.outcome
        except NoReply as error:
            return Failed(str(error))
        except KamajiEventsError as error:
            return Failed(f"the sink's memory: {error}")
        return Delivered()

    async def _tell(self, event: Event) -> None:
        family = Family.of(event)
        if await self._flooded(event, family):
            return
        async with self._in_turn():
            if family.threaded:
                await self._threads.tell(event, family)
            else:
                await self._api.post(message(event, self._settings))

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """One after the other: two events of one operation must not begin two threads; a long queue is the broker's."""
        wait = self._waiting * 2 * self._settings.interval  # an answer and an update each
        if wait > PATIENCE:
            raise SlackRefused(Throttled("Slack takes about a message a second", retry_after=wait))
        self._waiting += 1
        try:
            async with self._lock:
                yield
        finally:
            self._waiting -= 1

    async def _flooded(self, event: Event, family: Family) -> bool:
        if self._settings.group is None:
            return False
        room = self._room(family)
        async with room.lock:
            shared = await room.flood.joined(family, self._clock())
        if shared:
            await room.tell(event)
        return shared

    def _room(self, family: Family) -> _Room:
        assert self._settings.group is not None  # noqa: S101 - the caller's condition
        room = self._rooms.get(family.flood)
        if room is None:
            key = f"{self._prefix}.flood.{short(family.flood)}"
            flood = Flood(self._settings.group, self._api, self._memory, key, family.title)
            room = self._rooms[family.flood] = _Room(flood, self._settings)
        self._rooms.move_to_end(family.flood)
        while len(self._rooms) > _FLOODS:
            self._rooms.popitem(last=False)
        return room

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
