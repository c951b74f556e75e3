"""Batches on their way out: one is being published, one more may be decided meanwhile."""

import asyncio
from collections import deque

from publisher.batch import Batch

__all__ = ["Outbox"]


class Outbox:
    """Batches that are decided and not yet safe, in order; survives leaderships, unlike the tasks around it.

    What was judged moved the judge's own memory: between that and ``put`` nothing may be awaited, or a leadership
    that ends just there would lose the batch. So whoever judges waits for ``room`` first.

    Args:
        most: batches held before ``room`` waits.
    """

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._batches: deque[Batch] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.number: int | None = None
        """The number under which the oldest batch is being remembered, None while it is not."""

    def __len__(self) -> int:
        return len(self._batches)

    async def room(self) -> None:
        """Wait until another batch may be decided."""
        await self._room.wait()

    def put(self, batch: Batch) -> None:
        """Add a batch, behind all others, room or not."""
        self._batches.append(batch)
        self._moved()

    async def oldest(self) -> Batch:
        """The oldest batch, which stays; waits for one."""
        await self._filled.wait()
        return self._batches[0]

    def safe(self) -> None:
        """The oldest batch is remembered and told: forget it."""
        self._batches.popleft()
        self.number = None
        self._moved()

    def recovered(self, own: int) -> None:
        """A new leadership found this process's own delta ``own`` at the end of what is remembered.

        If that is the batch which was on its way, it is safe: its events are published again by whoever recovered.
        """
        if self.number is not None and own >= self.number and self._batches:
            self.safe()
        self.number = None

    def clear(self) -> None:
        """Forget everything: somebody else led meanwhile and will have found the same by itself."""
        self._batches.clear()
        self.number = None
        self._moved()

    def _moved(self) -> None:
        for bell, rings in ((self._filled, bool(self._batches)), (self._room, len(self._batches) < self._most)):
            if rings:
                bell.set()
            else:
                bell.clear()
