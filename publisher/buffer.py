"""The bounded buffer of changes between the watches and the one that decides.

The watches must go on being read while the broker is away: a reader that pauses is cut off by the API server as
too slow. So changes wait here, bounded in bytes. Past the bound the buffer drops what it holds and says so once:
the watches are then read anew from the last version that was decided, which the API server still knows or answers
with 410, and then the newest state of each object is compared. Nothing is lost either way, and nothing grows.
"""

import asyncio
from collections import deque
from typing import Any

from publisher.lifecycle.looks import LookAnswer
from publisher.observation import Changed, Observation

__all__ = ["Buffered", "ChangeBuffer"]

Buffered = Observation[Any] | LookAnswer
"""What waits: observations in the order of each watch, and answers to questions that were asked of the API."""

_SMALL = 512
"""Bytes counted for what carries no size of its own (marks of a list's begin and end, answers)."""


def _size(item: Buffered) -> int:
    return max(item.change.size, _SMALL) if isinstance(item, Changed) else _SMALL


class ChangeBuffer:
    """Changes waiting to be judged.

    Args:
        bound: bytes of watch lines held at most, as they were on the wire.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._items: deque[Buffered] = deque()
        self._bytes = 0
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.overflowed = asyncio.Event()
        """Set when changes were dropped; cleared by ``clear``. Whoever owns the watches must read them anew."""

    def __len__(self) -> int:
        return len(self._items)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._bytes

    async def put(self, item: Buffered) -> None:
        """Add an item.

        A change of an object never waits: past the bound everything held is dropped and ``overflowed`` is set,
        and what comes after is dropped too until ``clear``. Objects of a list wait for room instead, since a
        list can be read as slowly as it must.
        """
        while self._bytes >= self._bound and not isinstance(item, Changed) and not self.overflowed.is_set():
            self._room.clear()
            await self._room.wait()
        if self.overflowed.is_set():
            return
        size = _size(item)
        if self._bytes + size > self._bound and isinstance(item, Changed) and self._items:
            self._overflow()
            return
        self._items.append(item)
        self._bytes += size
        self._filled.set()

    def _overflow(self) -> None:
        self._drop()
        self.overflowed.set()
        self._filled.set()

    def _drop(self) -> None:
        self._items.clear()
        self._bytes = 0
        self._room.set()

    def clear(self) -> None:
        """Begin anew, empty: the watches start again from what was decided."""
        self._drop()
        self._filled.clear()
        self.overflowed.clear()

    def take(self, most: int) -> list[Buffered]:
        """Take up to ``most`` items, oldest first, without waiting."""
        taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
        self._bytes -= sum(map(_size, taken))
        if self._bytes < self._bound:
            self._room.set()
        if not self._items and not self.overflowed.is_set():
            self._filled.clear()
        return taken

    async def wait(self, timeout: float | None) -> None:  # noqa: ASYNC109 - None means: until something comes
        """Return when something is there or was dropped, or after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._filled.wait()
        except TimeoutError:
            return
