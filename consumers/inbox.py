"""The inbox of an ordered subscription: what a queue gives back comes first, and in no order one could trust.

RabbitMQ gives out what a former reader had unacknowledged before anything else, but measured in reverse order when a
channel was closed. So these are gathered up to the first message that never was with a reader, and sorted by
the events' own sequence. A mark of our own makes sure that such a message comes.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from consumers.headers import MARKER
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.consume import Consumer, Incoming
from kamaji_events.errors import EnvelopeError
from kamaji_events.event import Event

__all__ = ["PREFETCH", "Inbox", "Letter", "ordered_consumer"]

PREFETCH = 256
"""The same for every ordered subscription and release: one reader's window must take in all that another had."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message and where it belongs."""

    incoming: Incoming
    object: str
    """The object's key; a message that is no event has its own."""
    sequence: str

    @classmethod
    def of(cls, incoming: Incoming) -> "Letter":
        """Read what it is about."""
        try:
            event = Event.from_bytes(incoming.body)
        except EnvelopeError:
            return cls(incoming, f"\0{incoming.delivery_tag}", "")
        return cls(incoming, event.partitionkey or f"\0{event.id}", event.sequence or "")


@asynccontextmanager
async def ordered_consumer(broker: Broker, queue: str) -> AsyncIterator[Consumer]:
    """A consumer that hands over by closing its channel.

    A cancel alone would make the next reader active while this one still has messages unacknowledged: later events
    would overtake them.
    """
    async with broker.channel() as channel:
        consumer = Consumer(channel, queue, prefetch=PREFETCH)
        await consumer.__aenter__()
        yield consumer


class Inbox:
    """A consumer's messages, each object's in order; iterate over it once."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    async def __aiter__(self) -> AsyncIterator[Letter]:
        returned: list[Letter] = []
        async for incoming in self._consumer:
            letter = Letter.of(incoming)
            if incoming.redelivered and len(returned) + 1 < PREFETCH:
                returned.append(letter)
                continue
            for earlier in sorted((*returned, letter) if incoming.redelivered else returned, key=_place):
                yield earlier
            if not incoming.redelivered:
                yield letter
            break
        async for incoming in self._consumer:
            yield Letter.of(incoming)


def _place(letter: Letter) -> tuple[bool, str]:
    """Marks first, then events as their sequences say."""
    return MARKER not in letter.incoming.headers, letter.sequence
