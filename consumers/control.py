"""What a person may do to a subscription from outside: look at its state, resume it, pause it."""

import asyncio
import getpass
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from consumers import record as r
from consumers.board import Board
from consumers.state import States, Status, SubscriptionState, is_cluster
from consumers.topology import House
from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.errors import SettingsError, TopologyMissing

__all__ = ["Control", "open_control"]


def _person() -> str:
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return f"someone@{socket.gethostname()}"


@dataclass(frozen=True, slots=True)
class Control:
    """A connection to the board; from ``open_control``."""

    board: Board
    broker: Broker
    house: House

    @property
    def states(self) -> States:
        """Every subscription that workers ever declared, by name."""
        return {name: state for name, state in self.board.states.items() if not is_cluster(name)}

    def state(self, name: str) -> SubscriptionState:
        """One subscription's state.

        Raises:
            SettingsError: no worker ever declared it.
        """
        states = self.states
        if name in states:
            return states[name]
        known = ", ".join(sorted(states)) or "none yet: start the consumers once"
        raise SettingsError(f"there is no subscription {name!r}; known: {known}")

    async def waiting(self, name: str) -> int:
        """Events that wait in its queues."""
        state, total = self.state(name), 0
        for version in (*state.old, state.version or 1):
            try:
                total += await declare.message_count(self.broker, self.house.layout.queue(name, version))
            except TopologyMissing:
                continue
        return total

    async def dead(self, name: str) -> int:
        """Its dead letters."""
        try:
            return await declare.message_count(self.broker, self.house.layout.dead_letters(name))
        except TopologyMissing:
            return 0

    async def resume(self, name: str) -> bool:
        """Deliver again, after a pause or a 410; all workers follow at once.

        Returns:
            False when it was not paused or disabled.
        """
        self.state(name)
        record = r.Resumed(subscription=name, at=time.time(), by=self.board.worker)
        before, _ = await self.board.append(record)
        return before.status is not Status.ACTIVE

    async def pause(self, name: str, why: str = "") -> bool:
        """Deliver nothing and do not probe until a person resumes it; events gather in its queue.

        Returns:
            False when it was paused or disabled already.
        """
        self.state(name)
        error = why or f"paused by {self.board.worker}"
        record = r.Paused(subscription=name, at=time.time(), by=self.board.worker, error=error, probe_at=None)
        before, _ = await self.board.append(record)
        return before.status is Status.ACTIVE


@asynccontextmanager
async def open_control(url: str, house: House | None = None) -> AsyncIterator[Control]:
    """Connect to the board.

    Raises:
        BrokerError: no connection.
        TopologyMissing: no consumers ever ran there.
    """
    house = house or House()
    async with (
        connect(url, name="kamaji-events control") as publishing,
        connect(url, name="kamaji-events control reading") as reading,
        publishing.publisher() as publisher,
    ):
        await _there(publishing, house)
        board = Board(reading, publisher, house.board, worker=_person())
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(board.run())
            await board.loaded.wait()
            yield Control(board, publishing, house)
            task.cancel()


async def _there(broker: Broker, house: House) -> None:
    try:
        await declare.message_count(broker, house.board)
    except TopologyMissing as error:
        raise TopologyMissing(
            "no consumers ever ran on this vhost: start 'kamaji-events consumers run' once"
        ) from error
