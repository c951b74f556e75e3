"""Deliveries that come at the same time, sent as one.

A sink is asked to deliver one event at a time, by several tasks at once. Here the first of them waits a moment for
others, sends them all and shares the outcome. There is no task of its own: when the one that leads is cancelled, one
that waits takes the lead, with the same events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from pydantic import Field

from consumers.sinks.settings import SinkSettings
from kamaji_events.duration import Duration

__all__ = ["BatchSettings", "Batcher"]

T = TypeVar("T")
R = TypeVar("R")


class BatchSettings(SinkSettings):
    """How large a batch may be and how long it waits; at most the subscription's concurrency come together."""

    most: int = Field(default=50, ge=1, le=1000)
    """Events."""
    most_bytes: int = Field(default=512 * 1024, ge=1024)
    """Bytes of their bodies."""
    wait: Duration = 0.1
    """Seconds that the first one waits for others."""


class _Batch(Generic[T, R]):
    def __init__(self) -> None:
        self.items: list[T] = []
        self.size = 0
        self.full = asyncio.Event()
        self.lead = asyncio.Lock()
        self.results: Sequence[R] | None = None


class Batcher(Generic[T, R]):
    """Gathers items and sends them together.

    Args:
        settings: bounds.
        send: sends a batch; gives one result for each item, in order.
    """

    def __init__(self, settings: BatchSettings, send: Callable[[Sequence[T]], Awaitable[Sequence[R]]]) -> None:
        self._settings = settings
        self._send = send
        self._open: _Batch[T, R] | None = None

    async def add(self, item: T, size: int) -> R:
        """Send an item together with others; its own result."""
        batch = self._joined(item, size)
        index = len(batch.items) - 1
        async with batch.lead:  # the first one in leads; the others find the results when it lets go
            if batch.results is None:
                await self._filled(batch)
                batch.results = await self._send(batch.items)
        return batch.results[index]

    def _joined(self, item: T, size: int) -> _Batch[T, R]:
        batch = self._open
        if batch is None or batch.size + size > self._settings.most_bytes:
            if batch is not None:
                self._close(batch)
            batch = self._open = _Batch()
        batch.items.append(item)
        batch.size += size
        if len(batch.items) >= self._settings.most:
            self._close(batch)
        return batch

    def _close(self, batch: "_Batch[T, R]") -> None:
        batch.full.set()
        if self._open is batch:
            self._open = None

    async def _filled(self, batch: "_Batch[T, R]") -> None:
        try:
            async with asyncio.timeout(self._settings.wait):
                await batch.full.wait()
        except TimeoutError:
            pass
        self._close(batch)
