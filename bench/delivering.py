"""One worker process with signed webhooks, and a way to drain a queue through it."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bench.child import Child
from bench.events import messages
from bench.ground import Ground
from bench.measure import Sample
from kamaji_events.broker import declare
from kamaji_events.envelope import Message

__all__ = ["Delivering", "delivering", "served", "webhook"]

_SECRET = {"fromEnv": "BENCH_WEBHOOK_SECRET"}


def webhook(
    name: str, cluster: str, url: str, *, concurrency: int = 50, events: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """One subscription to a cluster's events, signed."""
    sink = {"url": url, "connections": concurrency, "signature": {"secrets": [_SECRET]}}
    delivery = {"concurrency": concurrency, "tries": 3, "delays": ["2s"], **more}
    filtered = {"clusters": [cluster], "events": list(events)}
    return {"name": name, "filter": filtered, "sink": {"webhook": sink}, "delivery": delivery}


@dataclass(frozen=True)
class Delivering:
    """A worker that serves, and the receiver behind it."""

    ground: Ground
    worker: Child
    receiver: Child
    names: Mapping[str, str]
    """The cluster of each subscription, and its own name, by its word."""

    async def drain(self, word: str, count: int) -> Sample:
        """Events wait in the queue; the worker is let go; what its process burns until all are acknowledged."""
        cluster = self.names[word]
        await self.receiver.ask("clear")
        self.worker.signal(signal.SIGSTOP)
        await self.publish(list(messages(cluster, count)))
        burnt, began = self.worker.cpu(), time.time()
        self.worker.signal(signal.SIGCONT)
        done = await self.receiver.ask("wait", path=f"/ok/{cluster}", count=count)
        await self._acknowledged(cluster)
        return Sample(count, done["last"] - began, self.worker.cpu() - burnt)

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

    async def ready(self) -> None:
        """Wait until every subscription delivers: its queue is bound from some moment on."""
        for name in self.names.values():
            async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(self.receiver.ask("wait", path=f"/ok/{name}", count=1))
                while not waiting.done():
                    assert self.worker.alive, self.worker.said()[-2000:]
                    await self.publish(list(messages(name, 1)))
                    await asyncio.wait([waiting], timeout=0.2)


@asynccontextmanager
async def served(
    ground: Ground, names: Mapping[str, str], subscriptions: Callable[[str], Sequence[Mapping[str, Any]]]
) -> AsyncIterator[Delivering]:
    """A worker of these subscriptions, ready.

    Args:
        ground: what it stands on.
        names: those subscriptions, by a word, that deliver to ``/ok/<name>`` the events of the cluster of that name.
        subscriptions: makes all of them, with the receiver's address.
    """
    receiver, url = await ground.receiver()
    async with ground.worker(*subscriptions(url)) as worker:
        made = Delivering(ground, worker, receiver, names)
        await made.ready()
        yield made


def delivering(
    ground: Ground,
    names: Mapping[str, str],
    *,
    concurrency: Mapping[str, int] | None = None,
    events: Sequence[str] = (),
) -> AbstractAsyncContextManager[Delivering]:
    """A worker with one healthy subscription for each cluster; 50 deliveries at once unless said otherwise."""
    many = concurrency or {}

    def subscriptions(url: str) -> list[dict[str, Any]]:
        return [
            webhook(name, name, f"{url}/ok/{name}", concurrency=many.get(word, 50), events=events)
            for word, name in names.items()
        ]

    return served(ground, names, subscriptions)
