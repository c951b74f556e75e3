"""The events exchange is deleted by hand while everybody is at work: all find back to it, and none misses an event."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from consumers.topology import House
from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.rebinding import kept_bound
from kamaji_events.broker.topology import Exchange, Layout, Topology
from kamaji_events.client import Subscription, subscribe
from kamaji_events.event import Event
from kamaji_events.filter import Filter
from kamaji_events.simulator import Simulator, Store
from tests.support.consumers import Stage, forget_house, stage
from tests.support.installation import CLUSTER, Installation, Replica, eventually, installation, topology
from tests.support.inventing import furnish
from tests.support.playing import Playing
from tests.support.receiver import Receiver, receiver

pytestmark = [pytest.mark.broker, pytest.mark.e2e, pytest.mark.timeout(120)]

OFTEN = 0.1
"""Seconds until a queue is bound again; a publisher gives a second here."""


@pytest.fixture
async def place(rabbit: str, layout: Layout, tmp_path: Path) -> AsyncIterator[Installation]:
    """A cluster with DataStores, whose ears find back by themselves."""
    sim = Simulator(furnish(Store()))
    ears = [binding for binding in topology(layout).bindings if binding.queue == layout.client_queue("ears")]
    async with (
        sim,
        installation(sim, rabbit, layout, tmp_path) as made,
        connect(rabbit, name="ears") as broker,
        kept_bound(broker, ears, every=OFTEN),
    ):
        yield made


@asynccontextmanager
async def consuming(place: Installation, hook: Receiver) -> AsyncIterator[Stage]:
    """A consumers' service with one subscription to everything."""
    house = House(place.layout, (1, 2))
    try:
        async with stage(place.url, house, place.folder) as scene:
            scene.mark = CLUSTER
            scene.write(scene.subscription(hook.url))
            async with scene.service(look_interval=OFTEN):
                yield scene
    finally:
        await forget_house(place.url, house)


@asynccontextmanager
async def listening(subscription: Subscription) -> AsyncIterator[set[str]]:
    """Ids that a Python subscriber has seen."""
    seen: set[str] = set()

    async def listen() -> None:
        async for event in subscription:
            seen.add(event.id)

    task = asyncio.create_task(listen())
    try:
        await eventually(lambda: subscription.connected)
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await subscription.aclose()


async def told_by_history(place: Installation, wanted: set[str]) -> None:
    """Read the history until it has told everything wanted."""
    async with subscribe(place.url, since="1h", prefix=place.layout.prefix) as history:
        left = set(wanted)
        while left:
            left.discard((await anext(history)).id)


def posted(hook: Receiver) -> set[str]:
    """Ids that a webhook receiver has."""
    return {Event.from_bytes(request.body).id for request in hook.requests}


async def delete_exchange(place: Installation) -> None:
    """As a person does it in RabbitMQ's own pages."""
    async with connect(place.url, name="vandal") as broker:
        await declare.delete(broker, Topology((Exchange(place.layout.events, "topic"),)))


async def again(playing: Playing, replica: Replica) -> None:
    """Something happens, the publisher meets the missing exchange, and everything is told in the end."""
    playing.more(2)
    await eventually(lambda: not replica.service.leads.is_set())
    await replica.leading()
    await playing.over()


async def test_everybody_finds_back(place: Installation) -> None:
    """Publisher, a webhook's queue, the history and a Python subscriber: each has every event, without a restart."""
    python = Subscription(place.url, Filter(), layout=place.layout, rebind=OFTEN)
    async with receiver() as hook, consuming(place, hook), listening(python) as seen, place.replica() as replica:
        playing = Playing(place, replica)
        await playing.begin()
        await delete_exchange(place)
        await again(playing, replica)
        told = {event.id for event in place.ears.tenants()}
        await eventually(lambda: told <= seen, lambda: told - seen)
        await eventually(lambda: told <= posted(hook), lambda: told - posted(hook))
        await told_by_history(place, told)


async def test_somebody_else_makes_it_first(place: Installation) -> None:
    """Declared again before the publisher met it missing, it would confirm all and pass it on to nobody."""
    async with place.replica() as replica, connect(place.url, name="vandal") as broker:
        playing = Playing(place, replica)
        await playing.begin()
        exchange = Topology((Exchange(place.layout.events, "topic"),))
        await declare.delete(broker, exchange)
        await declare.apply(broker, exchange)
        playing.more(2)
        await eventually(lambda: not replica.service.leads.is_set())
        await replica.leading()
        await playing.over()
        await told_by_history(place, {event.id for event in place.ears.tenants()})


async def test_a_standby_makes_it_anew(place: Installation) -> None:
    """The token moves to a standby that found the exchange when it came: it, too, waits for the subscribers."""
    async with place.replica("a") as leader:
        playing = Playing(place, leader)
        await playing.begin()
        async with place.replica("b") as standby:
            await eventually(lambda: standby.service.condition.broker is None)
            await delete_exchange(place)
            playing.more(2)
            await eventually(lambda: not leader.service.leads.is_set())
            playing.more()
            await playing.whole()
            place.ears.check()
