"""A consumers' service on a real broker, with everything a test wants to look at and nothing left behind."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from consumers.run import Service
from consumers.settings import ConsumerSettings
from consumers.topology import House
from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.topology import Layout, Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.envelope import Message
from tests.support.rabbit import fresh

__all__ = ["Stage", "house", "stage"]

TIERS = (1, 2, 4)


def house() -> House:
    """Names of one's own, with few tiers: each is a quorum queue."""
    return House(Layout(fresh("k")), TIERS)


@dataclass
class Stage:
    """What a test plays on."""

    url: str
    broker: Broker
    house: House
    folder: Path
    clean: set[str] = field(default_factory=set)

    @property
    def file(self) -> Path:
        """The subscriptions file."""
        return self.folder / "subscriptions.yaml"

    def write(self, text: str) -> None:
        """Put a subscriptions file in force."""
        self.file.write_text(text, encoding="utf-8")

    async def publish(self, *messages: Message | Outgoing, exchange: str | None = None) -> None:
        """Publish events as the publisher does."""
        async with self.broker.publisher() as publisher:
            await publisher.publish_many(messages, exchange=self.house.layout.events if exchange is None else exchange)

    async def count(self, queue: str) -> int:
        """Messages that wait in a queue."""
        return await declare.message_count(self.broker, queue)

    @asynccontextmanager
    async def service(self, *, url: str | None = None, instance: str = "w", **settings: object) -> AsyncIterator[Service]:
        """A running service that serves."""
        given = {"health_host": "127.0.0.1", "health_port": 0, "subscriptions": self.file, "instance": instance}
        given |= {"amqp_url": url or self.url, "allow": ("127.0.0.1/32",), "reload_interval": 3600.0, "drain_timeout": 5.0}
        service = Service(ConsumerSettings(**(given | settings)), house=self.house)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(service.run())
            await service.serving.wait()
            yield service
            service.stop()
            await task


async def until(met: Callable[[], bool], changed: asyncio.Event) -> None:
    """Wait until something holds that can only change when ``changed`` is set."""
    while not met():
        changed.clear()
        await changed.wait()


def _everything(house: House, subscriptions: Iterable[str]) -> Topology:
    layout = house.layout
    names = [layout.queue(name, version) for name in subscriptions for version in (1, 2, 3)]
    names += [layout.dead_letters(name) for name in subscriptions]
    queues = tuple(Queue(name) for name in names)
    common = layout.exchange_topology() + house.common_topology()
    return Topology(common.exchanges, (*common.queues, *queues))


@asynccontextmanager
async def stage(url: str, folder: Path, *subscriptions: str) -> AsyncIterator[Stage]:
    """A stage whose exchanges and queues are deleted at the end."""
    async with connect(url, name="test stage") as broker:
        made = Stage(url, broker, house(), folder)
        try:
            yield made
        finally:
            await declare.delete(broker, _everything(made.house, subscriptions))
