"""Batches on their way out: one is being published, one more may be decided meanwhile."""

import asyncio
from collections import deque

from publisher.batch import Batch

__all__ = ["Outbox"]


class Outbox:
    """Batches that are decided and not yet safe, in order; survives leaderships, unlike the tasks around it.

    Args:
        most: batches held; ``put`` waits beyond them.
    """

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._batches: deque[Batch] = deque()
        self._changed = asyncio.Condition()
        self.number: int | None = None
        """The number under which the oldest batch is being remembered, None while it is not."""

    def __len__(self) -> int:
        return len(self._batches)

    async def put(self, batch: Batch, *, wait: bool = True) -> None:
        """Add a batch, behind all others; wait for room unless told not to."""
        async with self._changed:
            if wait:
                await self._changed.wait_for(lambda: len(self._batches) < self._most)
            self._batches.append(batch)
            self._changed.notify_all()

    async def oldest(self) -> Batch:
        """The oldest batch, which stays; waits for one."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._batches))
            return self._batches[0]

    async def safe(self) -> None:
        """The oldest batch is remembered and told: forget it."""
        async with self._changed:
            self._batches.popleft()
            self.number = None
            self._changed.notify_all()

    async def recovered(self, own: int) -> None:
        """A new leadership found this process's own delta ``own`` at the end of what is remembered.

        If that is the batch which was on its way, it is safe: its events are published again by whoever recovered.
        """
        if self.number is not None and own >= self.number and self._batches:
            await self.safe()
        self.number = None

    def clear(self) -> None:
        """Forget everything: somebody else led meanwhile and will have found the same by itself."""
        self._batches.clear()
        self.number = None
