"""Order by object: a failing event holds back its object's later ones, and no other object's.

Which events are on their way through the delay tiers is written on the board before they leave. A later event of
the same object that meets such an entry is put off until that one is due, and becomes an entry itself; an event
goes only when no earlier one of its object is entered. So the order survives workers, restarts and hand-overs.

An entry whose event never comes back (someone purged a queue) would block for ever. When one is long overdue, a
mark is sent through the queue: if it arrives before the event does, the event is gone and the entry is released.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

from pamqp import commands as spec

from consumers import record as r
from consumers.desk import Case, Desk
from consumers.headers import MARKER, redriven
from consumers.inbox import Inbox, Letter, ordered_consumer
from consumers.lanes import Lanes
from kamaji_events.broker.consume import Consumer, Incoming
from kamaji_events.broker.wire import Outgoing

__all__ = ["OVERDUE", "OrderedDesk", "read_in_order"]

_log = logging.getLogger(__name__)

OVERDUE = 300.0
"""Seconds after which a held event is looked for: longer than any hop is late."""
_BEHIND = 0.2
"""Seconds by which a waiting event is put behind the one that it waits for."""
_CATCHING = 4.0
"""Seconds for which an event of today waits while older ones are copied from the history."""
_PERSISTENT = 2


class _ClosedError(Exception):
    """Reading ended on purpose."""


class OrderedDesk(Desk):
    """A desk that keeps each object's events in order."""

    _asked: frozenset[tuple[str, str, float]] = frozenset()

    async def opened(self, incoming: Incoming) -> Case | None:
        """As ``Desk.opened``; an event that must wait for an earlier one is put off, and then it is None."""
        if (mark := incoming.headers.get(MARKER)) is not None:
            await self._marked(str(mark))
            await incoming.ack()
            return None
        case = await super().opened(incoming)
        if case is None or redriven(incoming.headers):
            return case
        due = await self._due_after_others(case)
        if due is None:
            return case
        await self.hold(case, due)
        await self.post.later(case.incoming, case.travel.postponed(due))
        return None

    async def _due_after_others(self, case: Case) -> float | None:
        """When to look at the event again; None when it may go now."""
        key, sequence, now = case.event.partitionkey, case.event.sequence, self.wires.clock()
        if key is None or sequence is None:
            return None
        state = self.wires.board.get(self.subscription.name)
        blocker = state.blocked_by(key, sequence)
        if blocker is not None:
            held, due = blocker
            if due < now - OVERDUE:
                await self._look_for(key, held, due)
            return max(due, now + 1.0 - _BEHIND) + _BEHIND
        catching = state.catch_up is not None and not case.travel.catch_up and case.travel.tries == 0
        return now + _CATCHING if catching else None

    async def hold(self, case: Case, due: float) -> None:
        """Enter it on the board before it leaves."""
        key, sequence = case.event.partitionkey, case.event.sequence
        if key is None or sequence is None:
            return
        state = self.wires.board.get(self.subscription.name)
        if state.held.get(key, {}).get(sequence) != due:
            await self.wires.board.append(
                r.Held(
                    subscription=self.subscription.name,
                    at=self.wires.clock(),
                    by=self.wires.worker,
                    object=key,
                    sequence=sequence,
                    due=due,
                )
            )

    async def release(self, case: Case) -> None:
        """Strike it off the board before it is settled: the other way round, a crash would leave it there."""
        key, sequence = case.event.partitionkey, case.event.sequence
        if key is not None and sequence is not None:
            await self._strike_off(key, sequence)

    async def _strike_off(self, key: str, sequence: str) -> None:
        if sequence not in self.wires.board.get(self.subscription.name).held.get(key, {}):
            return
        record = r.Released(
            subscription=self.subscription.name,
            at=self.wires.clock(),
            by=self.wires.worker,
            object=key,
            sequence=sequence,
        )
        await self.wires.board.append(record)

    async def _look_for(self, key: str, sequence: str, due: float) -> None:
        """Send a mark behind an event that is long overdue, once."""
        wanted = (key, sequence, due)
        if wanted not in self._asked:
            self._asked |= {wanted}
            await self.mark(f"{key} {sequence} {due!r}")

    async def _marked(self, mark: str) -> None:
        """A mark came back: what it was sent after would have come before it."""
        words = mark.split(" ")
        if len(words) != 3:  # noqa: PLR2004 - a mark that only ends what was returned
            return
        key, sequence, due = words[0], words[1], float(words[2])
        self._asked -= {(key, sequence, due)}
        state = self.wires.board.get(self.subscription.name)
        if state.held.get(key, {}).get(sequence) == due:
            _log.warning("an event that was held never came back", extra={"object": key, "sequence": sequence})
            await self._strike_off(key, sequence)

    async def mark(self, text: str) -> None:
        """Put a mark at the end of the queue."""
        properties = spec.Basic.Properties(
            message_id=uuid4().hex, delivery_mode=_PERSISTENT, headers={MARKER: text}, app_id="kamaji-events"
        )
        outgoing = Outgoing(b"", self.subscription.name, properties)
        await self.wires.publisher.publish(outgoing, exchange=self.wires.house.layout.returns, mandatory=True)


async def read_in_order(
    desk: OrderedDesk, queue: str, *, closed: Callable[[], bool], look: float, fresh: bool = True
) -> None:
    """Deliver a queue's events, each object's in order, until ``closed`` says so.

    Only one reader of such a queue is active; leaving closes the channel, which gives back what was not begun.

    Args:
        desk: handles the events.
        queue: its name.
        closed: asked after each change on the board, and every ``look`` seconds.
        look: seconds.
        fresh: False for an older version of the queue, which nothing new enters.
    """

    async def handle(letter: Letter) -> None:
        case = await desk.opened(letter.incoming)
        if case is None:
            return
        await desk.pace.wait()
        if not closed():  # otherwise it stays unacknowledged, and is given back
            await desk.settle(case, await desk.attempt(case))

    async def close_in_time(lanes: Lanes[Letter]) -> None:
        while not closed():
            await desk.wires.board.news(look)
        await lanes.halt()
        raise _ClosedError

    async with ordered_consumer(desk.wires.consuming, queue) as consumer:
        try:
            async with asyncio.TaskGroup() as tasks:
                lanes = Lanes(tasks, desk.subscription.policy.concurrency, handle)
                tasks.create_task(close_in_time(lanes))
                if fresh:
                    await desk.mark("end")
                async for letter in Inbox(consumer) if fresh else _as_it_comes(consumer):
                    lanes.add(letter.object, letter)
        except* _ClosedError:
            pass


async def _as_it_comes(consumer: Consumer) -> AsyncIterator[Letter]:
    """Of a queue that was unordered."""
    async for incoming in consumer:
        yield Letter.of(incoming)
