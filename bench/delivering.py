"""One worker process with signed webhooks of several concurrencies, and a way to drain a queue through it."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bench.child import Child
from bench.events import messages
from bench.ground import Ground
from bench.measure import Sample
from kamaji_events.broker import declare
from kamaji_events.envelope import Message

__all__ = ["Delivering", "delivering", "webhook"]

_SECRET = {"fromEnv": "BENCH_WEBHOOK_SECRET"}


def webhook(name: str, cluster: str, url: str, *, concurrency: int = 50, **more: Any) -> dict[str, Any]:
    """One subscription to a cluster's events, signed."""
    sink = {"url": url, "connections": concurrency, "signature": {"secrets": [_SECRET]}}
    delivery = {"concurrency": concurrency, "tries": 3, "delays": ["2s"], **more}
    return {"name": name, "filter": {"clusters": [cluster]}, "sink": {"webhook": sink}, "delivery": delivery}


@dataclass(frozen=True)
class Delivering:
    """A worker that serves, and the receiver behind it.

    Attributes:
        names: the cluster of each subscription, by the subscription's word.
    """

    ground: Ground
    worker: Child
    receiver: Child
    names: Mapping[str, str]

    async def drain(self, word: str, count: int) -> Sample:
        """Events wait in the queue; the worker is let go; what its process burns until the last one arrived."""
        cluster = self.names[word]
        await self.receiver.ask("clear")
        self.worker.signal(signal.SIGSTOP)
        await self.publish(list(messages(cluster, count)))
        burnt, began = self.worker.cpu(), time.perf_counter()
        self.worker.signal(signal.SIGCONT)
        await self.receiver.ask("wait", path=f"/ok/{cluster}", count=count)
        seconds = time.perf_counter() - began
        await self._acknowledged(cluster)
        return Sample(count, seconds, self.worker.cpu() - burnt)

    async def publish(self, events: Sequence[Message]) -> None:
        """Put events on the exchange."""
        broker = await self.ground.broker()
        async with broker.publisher() as publisher:
            await publisher.publish_many(events, exchange=self.ground.layout.events)

    async def _acknowledged(self, name: str) -> None:
        """Wait until nothing is left in the queue: acknowledging is a part of a delivery."""
        broker = await self.ground.broker()
        while await declare.message_count(broker, self.ground.layout.queue(name)):  # noqa: ASYNC110 - AMQP tells no end
            await asyncio.sleep(0.01)


@asynccontextmanager
async def delivering(ground: Ground, concurrencies: Mapping[str, int]) -> AsyncIterator[Delivering]:
    """Open a worker with one subscription for each word, and wait until each has delivered."""
    receiver, url = await ground.receiver()
    names = {word: ground.fresh(word) for word in concurrencies}
    subscriptions = [
        webhook(names[word], names[word], f"{url}/ok/{names[word]}", concurrency=concurrency)
        for word, concurrency in concurrencies.items()
    ]
    async with ground.worker(*subscriptions) as worker:
        made = Delivering(ground, worker, receiver, names)
        await ready(made, worker)
        yield made


async def ready(made: Delivering, worker: Child) -> None:
    """Wait until every subscription delivers: its queue is bound from some moment on."""
    for name in made.names.values():
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(made.receiver.ask("wait", path=f"/ok/{name}", count=1))
            while not waiting.done():
                assert worker.alive, worker.said()[-2000:]
                await made.publish(list(messages(name, 1)))
                await asyncio.wait([waiting], timeout=0.2)
