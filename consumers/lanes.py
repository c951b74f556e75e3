"""Lanes: things of one key one after the other, of several keys at once."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["Lanes"]

T = TypeVar("T")


class Lanes(Generic[T]):
    """Works things off in the order in which each key got them.

    Args:
        tasks: where the work runs; an error in it ends them all.
        concurrency: things under way at once.
        work: what is done with each.
    """

    def __init__(self, tasks: asyncio.TaskGroup, concurrency: int, work: Callable[[T], Awaitable[None]]) -> None:
        self._tasks = tasks
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._work = work
        self._waiting: dict[str, deque[T]] = {}
        self._halted = False

    def add(self, key: str, thing: T) -> None:
        """Put a thing at the end of its lane."""
        lane = self._waiting.get(key)
        if lane is not None:
            lane.append(thing)
            return
        self._waiting[key] = deque((thing,))
        self._tasks.create_task(self._run(key))

    async def _run(self, key: str) -> None:
        lane = self._waiting[key]
        while lane:
            async with self._slots:
                if self._halted:
                    return
                await self._work(lane.popleft())
        del self._waiting[key]

    async def halt(self) -> None:
        """Begin nothing more; returns when nothing is under way. What waited is left as it was."""
        self._halted = True
        for _ in range(self._concurrency):
            await self._slots.acquire()
