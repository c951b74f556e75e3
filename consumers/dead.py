"""Dead letters and orphans: look at them, send them again, or throw them away.

Each is read by one reader that takes what is there and gives back, in reverse order, what it does not settle: so
RabbitMQ puts it back in its place. Sending again publishes a fresh copy with the same bytes and id, confirmed,
and only then acknowledges: killed midway there may be copies, never a loss. What dies again meanwhile is left alone.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase

from consumers.control import Control
from consumers.headers import REDRIVEN, Death, Travel
from consumers.post import again
from kamaji_events.broker import declare
from kamaji_events.broker.consume import Consumer, Incoming
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.errors import BrokerUnavailable, EnvelopeError, SettingsError, TopologyMissing
from kamaji_events.event import Event

__all__ = ["ORPHANS", "Choice", "DeadLetter", "DeadLetters"]

ORPHANS = "orphans"
"""Given as a subscription: retries of subscriptions that are gone."""

_MOST = 60_000
"""Letters held at once: AMQP's prefetch is 16 bits."""
_WINDOW = 500
"""... when all of them are settled as they come."""
_SILENCE = 1.0
"""Seconds without a message that count as the end when a queue says that it is empty, which it also says wrongly for
some seconds after a broker's start, or when others read it, too."""
_PARALLEL = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which letters; a part that is not given means any."""

    ids: frozenset[str] = frozenset()
    events: tuple[str, ...] = ()
    """Two words with ``*``, such as ``upgrade.*``."""
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Of the objects, with ``*``."""
    error: str = ""
    """A part of why or of the error, whatever its case."""
    older: float | None = None
    """Dead for more than so many seconds."""
    younger: float | None = None
    """Dead for less than so many seconds."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One of them."""

    id: str
    event: Event | None
    """None for bytes that are no event."""
    body: bytes
    subscription: str
    why: str
    error: str
    died_at: float
    """Seconds since 1970; 0 when unknown."""
    tries: int
    first_failure: float | None

    @classmethod
    def of(cls, incoming: Incoming) -> "DeadLetter":
        """Read a message of a dead-letter queue or of the orphans."""
        event: Event | None = None
        with suppress(EnvelopeError):
            event = Event.from_bytes(incoming.body)
        death = Death.read(incoming.headers, subscription=incoming.routing_key)
        travel = Travel.read(incoming.headers)
        return cls(
            id=event.id if event is not None else incoming.properties.message_id or "",
            event=event,
            body=incoming.body,
            subscription=death.subscription,
            why=death.why,
            error=death.error,
            died_at=death.at,
            tries=travel.tries,
            first_failure=travel.first_failure,
        )

    def chosen(self, choice: Choice, now: float) -> bool:
        """True when it is meant."""
        age = now - self.died_at
        return (
            (not choice.ids or self.id in choice.ids)
            and _any(choice.events, self.event.name if self.event else "")
            and _any(choice.namespaces, (self.event.namespace if self.event else "") or "")
            and _any(choice.names, (self.event.object_name if self.event else "") or "")
            and choice.error.lower() in f"{self.why} {self.error}".lower()
            and (choice.older is None or age > choice.older)
            and (choice.younger is None or age < choice.younger)
        )


_Settle = Callable[[Incoming, DeadLetter], Awaitable[None]]


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)


class DeadLetters:
    """The dead letters of all subscriptions.

    Args:
        control: see ``consumers.control.open_control``.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._broker = control.broker
        self._layout = control.house.layout

    def queue(self, subscription: str) -> str:
        """Where a subscription's dead letters are, or the orphans."""
        return self._layout.orphans if subscription == ORPHANS else self._layout.dead_letters(subscription)

    async def list(self, subscription: str, choice: Choice | None = None, *, most: int = 1000) -> list[DeadLetter]:
        """The oldest letters, left where they are; nobody else sees them while they are read.

        Raises:
            TopologyMissing: there is no such subscription.
        """
        now, choice = time.time(), choice or Choice()
        found: list[DeadLetter] = []
        async with self._read(subscription, most if choice == Choice() else _MOST) as letters:
            async for incoming in letters:
                letter = DeadLetter.of(incoming)
                if letter.chosen(choice, now):
                    found.append(letter)
                if len(found) >= most:
                    break
        return found

    async def show(self, subscription: str, event_id: str) -> DeadLetter | None:
        """One letter by its event's id; None when there is none."""
        found = await self.list(subscription, Choice(ids=frozenset((event_id,))), most=1)
        return found[0] if found else None

    async def redrive(
        self, subscription: str, choice: Choice | None = None, *, to: str | None = None, most: int | None = None
    ) -> int:
        """Send letters again: as if they had never failed, past the filter, same bytes and id.

        Args:
            subscription: whose letters, or ``orphans``.
            choice: which.
            to: another subscription; required for orphans whose own is gone.
            most: at most so many, the oldest.

        Returns:
            How many were sent.

        Raises:
            SettingsError: the subscription to send to does not exist, or is no longer in the file.
            TopologyMissing: there is no subscription of this name.
            PublishFailed: one could not be sent; it is still a dead letter, those before it are sent.
        """
        async with self._broker.publisher(max_in_flight=_PARALLEL) as publisher:

            async def send(incoming: Incoming, letter: DeadLetter) -> None:
                target = self._target(to or letter.subscription)
                await _send(publisher, incoming, target)

            return await self._settle(subscription, choice or Choice(), send, most)

    def _target(self, subscription: str) -> str:
        """The queue itself: the exchange of returns would make an orphan of what nobody wants."""
        state = self._control.states.get(subscription)
        if state is None or not state.version or state.removed:  # a removed one's queue goes with the next prune
            raise SettingsError(f"no subscription {subscription!r} to send to; give another one with --to")
        return self._layout.queue(subscription, state.version)

    async def purge(self, subscription: str, choice: Choice | None = None, *, most: int | None = None) -> int:
        """Throw letters away.

        Returns:
            How many.
        """

        async def drop(incoming: Incoming, _: DeadLetter) -> None:
            await incoming.ack()

        return await self._settle(subscription, choice or Choice(), drop, most)

    async def _settle(self, subscription: str, choice: Choice, settle: _Settle, most: int | None) -> int:
        """Do something with each chosen letter, several at once; the rest goes back."""
        began, count = time.time(), 0
        slots = asyncio.Semaphore(_PARALLEL)

        async def one(incoming: Incoming, letter: DeadLetter) -> None:
            try:
                await settle(incoming, letter)
            finally:
                slots.release()

        window = _WINDOW if choice == Choice() else _MOST  # what is not chosen stays unacknowledged
        async with self._read(subscription, window) as letters, asyncio.TaskGroup() as tasks:
            async for incoming in letters:
                letter = DeadLetter.of(incoming)
                if letter.died_at > began or not letter.chosen(choice, began):
                    continue
                await slots.acquire()
                letters.settled(incoming)
                tasks.create_task(one(incoming, letter))
                count += 1
                if most is not None and count >= most:
                    break
        return count

    @asynccontextmanager
    async def _read(self, subscription: str, window: int) -> AsyncIterator["_Letters"]:
        queue = self.queue(subscription)
        expected = await declare.message_count(self._broker, queue)
        async with self._broker.consume(queue, min(window, _MOST)) as consumer:
            letters = _Letters(consumer, expected)
            try:
                yield letters
            finally:
                await letters.give_back()


class _Letters:
    """A queue's messages up to its end; what is not settled is given back in reverse order."""

    def __init__(self, consumer: Consumer, expected: int) -> None:
        self._consumer = consumer
        self._expected = expected
        self._open: dict[int, Incoming] = {}

    async def __aiter__(self) -> AsyncIterator[Incoming]:
        seen = 0
        while not self._expected or seen < self._expected:
            try:
                async with asyncio.timeout(_SILENCE):
                    incoming = await anext(self._consumer)
            except (TimeoutError, StopAsyncIteration):
                return
            seen += 1
            self._open[incoming.delivery_tag] = incoming
            yield incoming

    def settled(self, incoming: Incoming) -> None:
        """It is acknowledged elsewhere."""
        self._open.pop(incoming.delivery_tag, None)

    async def give_back(self) -> None:
        """Everything else, and what was delivered but not looked at."""
        with suppress(BrokerUnavailable, TopologyMissing):
            await self._consumer.stop()
            async for incoming in self._consumer:
                self._open[incoming.delivery_tag] = incoming
            for incoming in reversed(self._open.values()):
                await incoming.nack(requeue=True)


async def _send(publisher: ConfirmingPublisher, incoming: Incoming, queue: str) -> None:
    outgoing = again(incoming, routing_key=queue, headers={REDRIVEN: True})
    await publisher.publish(outgoing, exchange="", mandatory=True)
    await incoming.ack()
