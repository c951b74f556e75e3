"""A consumers' service on a real broker, with everything a test wants to look at and nothing left behind."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from consumers.run import Service
from consumers.settings import ConsumerSettings
from consumers.topology import House
from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.consume import Consumer
from kamaji_events.broker.topology import Binding, Layout, Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import Message, encode
from kamaji_events.identity import sequence
from tests.support.cut_proxy import Proxy
from tests.support.rabbit import fresh

__all__ = ["Stage", "new_house", "settled_house", "stage", "until"]

_TIERS = (1, 2, 4)
_SETTLED = 2.0
"""Seconds for which a new quorum queue is left alone: its dead-lettering was seen to begin late under load."""


def new_house() -> House:
    """Names of one's own, with few tiers: each is a quorum queue."""
    return House(Layout(fresh("k")), _TIERS)


def _common(house: House) -> Topology:
    return house.layout.exchange_topology() + house.common_topology()


async def settled_house(url: str, house: House) -> None:
    """Declare what all subscriptions share and wait until it can be trusted."""
    async with connect(url, name="test house") as broker:
        await declare.apply(broker, _common(house))
        await asyncio.sleep(_SETTLED)


async def forget_house(url: str, house: House) -> None:
    """Delete it."""
    async with connect(url, name="test house") as broker:
        await declare.delete(broker, _common(house))


@dataclass
class Stage:
    """What a test plays on: its events come from a cluster of its own, its subscriptions have a mark."""

    url: str
    broker: Broker
    house: House
    folder: Path
    mark: str = field(default_factory=lambda: uuid4().hex[:8])
    names: set[str] = field(default_factory=set)

    @property
    def file(self) -> Path:
        """The subscriptions file."""
        return self.folder / "subscriptions.yaml"

    def name(self, word: str = "hook") -> str:
        """The name that a subscription has in the broker."""
        self.names.add(f"{word}-{self.mark}")
        return f"{word}-{self.mark}"

    def queue(self, word: str = "hook", version: int = 1) -> str:
        """A subscription's queue."""
        return self.house.layout.queue(self.name(word), version)

    def dead(self, word: str = "hook") -> str:
        """A subscription's dead letters."""
        return self.house.layout.dead_letters(self.name(word))

    def subscription(
        self,
        url: str = "",
        word: str = "hook",
        *,
        events: tuple[str, ...] = (),
        labels: str = "",
        sink: Any = None,
        more: Mapping[str, Any] | None = None,
        **delivery: Any,
    ) -> dict[str, Any]:
        """One entry of the file, for this test's events only; retries come quickly."""
        filter_ = {"clusters": [self.mark], "events": list(events), "labels": labels}
        quick = {"delays": ["1s"], "tries": 3, "jitter": 0} | delivery
        sink = sink if sink is not None else {"webhook": {"url": url}}
        return {"name": self.name(word), "filter": filter_, "sink": sink, "delivery": quick, **(more or {})}

    def write(self, *subscriptions: Mapping[str, Any]) -> None:
        """Put a subscriptions file in force."""
        self.file.write_text(yaml.safe_dump({"subscriptions": list(subscriptions)}), encoding="utf-8")

    def event(
        self,
        id: str,  # noqa: A002 - the attribute's name
        *,
        event: str = "state.ready",
        name: str = "acme",
        n: int = 1,
        labels: Any = None,
        seconds: float | None = 1_764_590_000.0,
    ) -> Message:
        """An event of this test's cluster; ``seconds`` None is now."""
        return encode(
            lookup(Kind.TENANTCONTROLPLANE, event),
            cluster=self.mark,
            namespace="tenants",
            name=name,
            uid=f"uid-{name}-{self.mark}",
            id=id,
            seconds=time.time() if seconds is None else seconds,
            sequence=sequence(1, n),
            term=1,
            data={"object": {"name": name, "namespace": "tenants", "labels": labels or {}}, "severity": "info"},
        )

    async def publish(self, *messages: Message | Outgoing, exchange: str | None = None) -> None:
        """Publish events as the publisher does."""
        async with self.broker.publisher() as publisher:
            await publisher.publish_many(messages, exchange=self.house.layout.events if exchange is None else exchange)

    @asynccontextmanager
    async def told(self) -> AsyncIterator[Consumer]:
        """Events that consumers tell of this test's subscriptions, from now on."""
        queue = Queue(fresh("told"), exclusive=True)
        keys = [f"subscription.*.*._._.{worker}" for worker in ("w", "a", "b", "c")]
        bindings = tuple(Binding(self.house.layout.events, queue.name, key) for key in keys)
        await declare.apply(self.broker, Topology(queues=(queue,), bindings=bindings))
        async with self.broker.consume(queue.name) as consumer:
            yield consumer

    async def count(self, queue: str) -> int:
        """Messages that wait in a queue."""
        return await declare.message_count(self.broker, queue)

    def made(self, **settings: Any) -> Service:
        """A service, not yet running."""
        given: dict[str, Any] = {"health_host": "127.0.0.1", "health_port": 0, "subscriptions": self.file}
        given |= {"amqp_url": self.url, "allow": ("127.0.0.1/32",), "reload_interval": 3600.0}
        given |= {"instance": "w", "drain_timeout": 5.0, "group": self.mark}
        return Service(ConsumerSettings(**(given | settings)), house=self.house)

    @asynccontextmanager
    async def service(self, **settings: Any) -> AsyncIterator[Service]:
        """A running service that serves; it is stopped gracefully."""
        service = self.made(**settings)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(service.run())
            await service.serving.wait()
            yield service
            service.stop()
            await task

    @asynccontextmanager
    async def killed(self, **settings: Any) -> AsyncIterator[Service]:
        """A running service that ends as a killed process does: its connections are cut, nothing is finished."""
        async with Proxy.to(self.url) as proxy, asyncio.TaskGroup() as tasks:
            service = self.made(amqp_url=proxy.url, **settings)
            task = tasks.create_task(service.run())
            await service.serving.wait()
            yield service
            proxy.cut()
            task.cancel()


async def until(met: Callable[[], bool], changed: asyncio.Event) -> None:
    """Wait until something holds that can only change when ``changed`` is set."""
    while not met():
        changed.clear()
        await changed.wait()


@asynccontextmanager
async def stage(url: str, house: House, folder: Path) -> AsyncIterator[Stage]:
    """A stage whose subscriptions' queues are deleted at the end."""
    made: Stage | None = None
    try:
        async with connect(url, name="test stage") as broker:
            made = Stage(url, broker, house, folder)
            yield made
    finally:
        if made is not None:  # the test may have killed the broker under the first connection
            async with connect(url, name="test stage's end") as broker:
                names = [house.layout.queue(name, version) for name in made.names for version in (1, 2, 3)]
                names += [house.layout.dead_letters(name) for name in made.names]
                await declare.delete(broker, Topology(queues=tuple(Queue(name) for name in names)))
