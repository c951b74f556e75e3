"""A worker: delivers one subscription's events for as long as its state says so.

Unordered: whatever the queue gives is handled at once, up to the policy's concurrency; several workers share the
queue. Closing takes no more from the queue and finishes what is here.
"""

import asyncio
import logging

from consumers.desk import Desk
from consumers.pace import quiet_until
from consumers.probe import Probe
from consumers.state import Status, SubscriptionState
from consumers.wires import Wires
from kamaji_events.broker.consume import Consumer, Incoming

__all__ = ["Worker"]

_log = logging.getLogger(__name__)

_LOOK = 30.0
"""Seconds between looks at the clock for quiet hours, and at old queues."""


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
        house, name = self._wires.house, self._subscription.name
        async with asyncio.TaskGroup() as tasks:
            for version in (*state.old, state.version or 1):
                tasks.create_task(self._read(house.layout.queue(name, version)))

    async def _read(self, queue: str) -> None:
        prefetch = self._subscription.policy.concurrency
        async with self._wires.consuming.consume(queue, prefetch) as consumer, asyncio.TaskGroup() as tasks:
            closing = tasks.create_task(self._close_in_time(consumer))
            async for incoming in consumer:
                tasks.create_task(self._handle(incoming))
            closing.cancel()

    async def _close_in_time(self, consumer: Consumer) -> None:
        versions = (self._state.version, self._state.old)
        while self._open() and versions == (self._state.version, self._state.old):
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
