"""The watchman: looks after a subscription's queue while its worker delivers.

Every so often: how much waits, is it within its quota, is it still bound, is there something to catch up, is an old
queue empty for good. Each of these is safe to be done by several workers at once.
"""

import logging
import time

from consumers import record as r
from consumers.catchup import catch_up
from consumers.desk import Desk
from consumers.quota import Keeper
from consumers.state import Status
from consumers.wires import Wires
from kamaji_events.broker import declare
from kamaji_events.broker.rebinding import REBIND
from kamaji_events.broker.topology import Queue, Topology
from kamaji_events.errors import TopologyMissing

__all__ = ["SURELY_EMPTY", "Watchman"]

_log = logging.getLogger(__name__)

SURELY_EMPTY = 1800.0
"""Seconds for which an old queue must be empty: longer than anyone holds a message unacknowledged."""


class Watchman:
    """Looks after one subscription.

    Args:
        desk: its desk.
        wires: the session.
        look: seconds between looks.
    """

    def __init__(self, desk: Desk, wires: Wires, *, look: float) -> None:
        self._desk = desk
        self._wires = wires
        self._look = look
        self._keeper = Keeper(desk, wires)
        self._name = desk.subscription.name
        self._empty_since: dict[int, float] = {}

    async def run(self) -> None:
        """Look again and again.

        Raises:
            BrokerError: the session is over.
        """
        while True:
            await self._all()
            next_look = time.monotonic() + min(self._look, REBIND)
            while (left := next_look - time.monotonic()) > 0 and not self._pressing():
                await self._wires.board.news(left)

    def _pressing(self) -> bool:
        """True when something is to be done at once."""
        state = self._wires.board.get(self._name)
        if state.catch_up is not None:
            return state.catch_up.worker == "" or state.catch_up.lease <= self._wires.clock()
        return state.wants_history is not None

    async def _all(self) -> None:
        waiting = await self._waiting(self._wires.board.get(self._name).version or 1)
        self._tell(waiting)
        await self._keeper.look(waiting)
        await catch_up(self._wires, self._desk.subscription)
        await self._drop_old()

    def _tell(self, waiting: int) -> None:
        metrics, state = self._wires.metrics, self._wires.board.get(self._name)
        metrics.waiting.labels(self._name).set(waiting)
        metrics.suspended.labels(self._name).set(state.suspended is not None)
        metrics.held.labels(self._name).set(len(state.held))
        for status in Status:
            metrics.status.labels(self._name, status).set(state.status is status)

    async def _waiting(self, version: int) -> int:
        try:
            return await declare.message_count(
                self._wires.consuming, self._wires.house.layout.queue(self._name, version)
            )
        except TopologyMissing:
            return 0

    async def _drop_old(self) -> None:
        for version in self._wires.board.get(self._name).old:
            now = self._wires.clock()
            if await self._waiting(version):
                self._empty_since.pop(version, None)
            elif now - self._empty_since.setdefault(version, now) >= SURELY_EMPTY:
                await self._drop(version)

    async def _drop(self, version: int) -> None:
        queue = self._wires.house.layout.queue(self._name, version)
        drained = r.Drained(subscription=self._name, at=self._wires.clock(), by=self._wires.worker, version=version)
        await self._wires.board.append(drained)
        await declare.delete(self._wires.publishing, Topology(queues=(Queue(queue),)))
        _log.info("the old queue %s is empty and deleted", queue, extra={"subscription": self._name})
