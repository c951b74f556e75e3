"""One operation in a channel: a message that always says how far it is, and the steps in its thread."""

from hashlib import sha256

import msgspec

from consumers.sinks.context import Memory
from consumers.sinks.slack.api import SlackApi
from consumers.sinks.slack.blocks import line_message, message
from consumers.sinks.slack.family import Family
from consumers.sinks.slack.refusal import MESSAGE_LOST, SlackRefused
from consumers.sinks.slack.settings import SlackSettings
from consumers.sinks.slack.turn import turn
from kamaji_events.event import Event

__all__ = ["Threads", "short"]

_MOST = 50
"""Events that a note remembers as said: more than an operation has."""


class _Note(msgspec.Struct):
    ts: str
    order: str
    said: list[str]


def short(text: str) -> str:
    """A short name for something long, for keys."""
    return sha256(text.encode()).hexdigest()[:16]


class Threads:
    """Tells events of operations, each once, and remembers where.

    Args:
        settings: links and mentions.
        api: how it is said.
        memory: where it was said.
        prefix: of the memory's keys: subscription and channel.
    """

    def __init__(self, settings: SlackSettings, api: SlackApi, memory: Memory, prefix: str) -> None:
        self._settings = settings
        self._api = api
        self._memory = memory
        self._prefix = prefix

    async def tell(self, event: Event, family: Family) -> None:
        """Say it: the first one as a message, others as answers, the message always with the latest.

        Raises:
            SlackRefused: nothing, or not all, was said; a repetition says the rest.
        """
        key = f"{self._prefix}.thread.{short(family.member)}"
        async with turn(self._memory, key):
            await self._tell(key, event, family)

    async def _tell(self, key: str, event: Event, family: Family) -> None:
        found = await self._memory.get(key)
        if found is None:
            await self._begin(key, event, family)
            return
        note = msgspec.msgpack.decode(found, type=_Note)
        try:
            await self._go_on(key, note, event, family)
        except SlackRefused as refused:
            if refused.word not in MESSAGE_LOST:
                raise
            await self._begin(key, event, family)  # somebody deleted it: say it anew

    async def _begin(self, key: str, event: Event, family: Family) -> None:
        ts = await self._api.post(message(event, self._settings))
        await self._keep(key, _Note(ts, family.order, [short(event.id)]))

    async def _go_on(self, key: str, note: _Note, event: Event, family: Family) -> None:
        if short(event.id) not in note.said:
            await self._api.post(line_message(event, self._settings), thread=note.ts)
            note.said = [*note.said, short(event.id)][-_MOST:]
            await self._keep(key, note)
        if family.order > note.order:  # an older one that was held up does not turn the message back
            await self._api.update(note.ts, message(event, self._settings))
            note.order = family.order
            await self._keep(key, note)

    async def _keep(self, key: str, note: _Note) -> None:
        await self._memory.put(key, msgspec.msgpack.encode(note))
