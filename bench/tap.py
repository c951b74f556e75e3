"""A tap on the exchange: what arrives there, and when."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from bench.ground import Ground
from kamaji_events.broker.consume import Consumer
from kamaji_events.event import Event

__all__ = ["Arrival", "Tap", "tapped"]


_PATIENCE = 120.0


class Arrival(NamedTuple):
    """An event on the exchange."""

    at: float
    """Seconds since 1970."""
    id: str
    name: str
    """Two words."""
    term: int | None


class Tap:
    """Events as they come."""

    def __init__(self) -> None:
        self.arrived: list[Arrival] = []
        self._news = asyncio.Event()

    async def until(self, wanted: Callable[[Arrival], bool], *, count: int = 1) -> Arrival:
        """Wait until so many events are wanted ones; gives the last of these."""
        async with asyncio.timeout(_PATIENCE):
            while len(found := [one for one in self.arrived if wanted(one)]) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]

    async def read(self, consumer: Consumer) -> None:
        """Note everything until cancelled."""
        async for incoming in consumer:
            event = Event.from_bytes(incoming.body)
            self.arrived.append(Arrival(time.time(), event.id, event.name, event.term))
            await incoming.ack()
            self._news.set()


@asynccontextmanager
async def tapped(ground: Ground, keys: Sequence[str]) -> AsyncIterator[Tap]:
    """Listen on the exchange for events of these binding keys."""
    tap, broker = Tap(), await ground.broker()
    async with (
        ground.queue(keys) as queue,
        broker.consume(queue, 2000) as consumer,
        asyncio.TaskGroup() as tasks,
    ):
        reading = tasks.create_task(tap.read(consumer))
        yield tap
        reading.cancel()
