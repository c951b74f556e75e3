"""A worker: delivers one subscription's events for as long as its state says so.

Without order whatever the queue gives is handled at once, up to the policy's concurrency; several workers share the
queue. Closing takes no more from the queue and finishes what is here. With order: ``consumers.ordered``.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from consumers.desk import Desk
from consumers.ordered import OrderedDesk, read_in_order
from consumers.pace import quiet_until
from consumers.probe import Probe
from consumers.state import Status, SubscriptionState
from consumers.wires import Wires
from kamaji_events.broker import declare
from kamaji_events.broker.consume import Consumer, Incoming
from kamaji_events.errors import TopologyMissing

__all__ = ["Worker"]

_log = logging.getLogger(__name__)

_LOOK = 30.0
"""Seconds between looks at the clock for quiet hours, and at old queues."""

_SHORT_LOOK = 1.0


class Worker:
    """One subscription in one process.

    Args:
        desk: handles its events.
        wires: the session.
    """

    def __init__(self, desk: Desk, wires: Wires) -> None:
        self._desk = desk
        self._wires = wires
        self._subscription = desk.subscription
        self._draining = False
        self._emptied = False
        self._probe = Probe(desk, wires, self._stays)

    def drain(self) -> None:
        """Take nothing more; ``run`` ends when what is here is finished."""
        self._draining = True
        self._wires.board.nudge()

    @property
    def _state(self) -> SubscriptionState:
        return self._wires.board.get(self._subscription.name)

    def _stays(self) -> bool:
        """False when whatever is done now should be brought to its end."""
        return not self._draining

    def _open(self) -> bool:
        """True while events are to be delivered."""
        quiet = quiet_until(self._subscription.policy.quiet_hours, self._wires.clock())
        on = self._subscription.enabled and quiet is None and not self._draining
        return on and self._state.status is Status.ACTIVE

    async def run(self) -> None:
        """Deliver until drained.

        Raises:
            BrokerError: the session is over; what was not settled comes again.
        """
        while not self._draining:
            if self._open():
                await self._deliver()
            elif self._state.status is Status.PAUSED and self._subscription.enabled:
                await self._probe.run()
            else:
                await self._wires.board.news(_LOOK)

    async def _deliver(self) -> None:
        state = self._state
        filled = [version for version in state.old if await self._waiting(version)] if self._ordered else []
        versions = filled or (*state.old, state.version or 1)  # with order, older ones alone until they are empty
        self._emptied = False
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(self._look_at(filled))
            reading = [tasks.create_task(self._read(version, state)) for version in versions]
            await asyncio.wait(reading)
            looking.cancel()

    @property
    def _ordered(self) -> bool:
        return isinstance(self._desk, OrderedDesk)

    async def _look_at(self, versions: Sequence[int]) -> None:
        """Have the reading end when these queues are empty."""
        while versions and not self._emptied:
            await self._wires.board.news(_SHORT_LOOK)
            self._emptied = not any([await self._waiting(version) for version in versions])
        self._wires.board.nudge()

    async def _waiting(self, version: int) -> int:
        queue = self._wires.house.layout.queue(self._subscription.name, version)
        try:
            return await declare.message_count(self._wires.consuming, queue)
        except TopologyMissing:
            return 0

    async def _read(self, version: int, begun: SubscriptionState) -> None:
        def closed() -> bool:
            versions = (self._state.version, self._state.old)
            return self._emptied or not self._open() or versions != (begun.version, begun.old)

        queue = self._wires.house.layout.queue(self._subscription.name, version)
        if isinstance(self._desk, OrderedDesk):
            await read_in_order(self._desk, queue, closed=closed, look=_LOOK, fresh=version == begun.version)
        else:
            await self._read_shared(queue, closed)

    async def _read_shared(self, queue: str, closed: Callable[[], bool]) -> None:
        prefetch = self._subscription.policy.concurrency
        async with self._wires.consuming.consume(queue, prefetch) as consumer, asyncio.TaskGroup() as tasks:
            closing = tasks.create_task(self._close_in_time(consumer, closed))
            async for incoming in consumer:
                tasks.create_task(self._handle(incoming))
            closing.cancel()

    async def _close_in_time(self, consumer: Consumer, closed: Callable[[], bool]) -> None:
        while not closed():
            await self._wires.board.news(_LOOK)
        await consumer.stop()

    async def _handle(self, incoming: Incoming) -> None:
        case = await self._desk.opened(incoming)
        if case is None:
            return
        await self._desk.pace.wait()
        if self._open() or self._draining:
            await self._desk.settle(case, await self._desk.attempt(case))
        else:
            await self._desk.put_back(case)
