"""subscribe(): live, durable, from the history, across a lost connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.topology import Layout, Topology
from kamaji_events.client import Subscription, subscribe
from kamaji_events.envelope import Message
from kamaji_events.errors import BrokerUnavailable, FilterError, SettingsError, TopologyMissing
from kamaji_events.event import Event
from kamaji_events.filter import Filter
from tests.support.cut_proxy import Proxy
from tests.support.events import event_message

pytestmark = pytest.mark.broker


@asynccontextmanager
async def exchange(
    url: str, layout: Layout, *, history: bool = True
) -> AsyncIterator[tuple[Broker, ConfirmingPublisher]]:
    """An events exchange of one's own, and a publisher for it."""
    whole = layout.exchange_topology()
    topology = whole if history else Topology(exchanges=whole.exchanges)
    async with connect(url, name="test") as broker:
        await declare.apply(broker, topology)
        async with broker.publisher() as publisher:
            yield broker, publisher
        await declare.delete(broker, whole)


async def connected(subscription: Subscription, publisher: ConfirmingPublisher, layout: Layout) -> Event:
    """Publish until the subscription has something: what comes before its queue is bound is not for it."""
    first = asyncio.ensure_future(anext(subscription))
    number = 0
    while not first.done():
        number += 1
        await publisher.publish(event_message(f"first-{number}"), exchange=layout.events)
        await asyncio.wait([first], timeout=0.05)
    return await first


async def take(subscription: Subscription, count: int) -> list[str]:
    """The next ids."""
    return [(await anext(subscription)).id for _ in range(count)]


def numbered(count: int, word: str = "e") -> list[Message]:
    """So many events."""
    return [event_message(f"{word}-{number}") for number in range(count)]


async def test_live_events_are_filtered_by_bindings_and_labels(rabbit: str, layout: Layout) -> None:
    """A live view gets what its filter names, judged in full, and nothing else."""
    wanted = Filter(events=("upgrade.*",), namespaces=("team-*",), labels="tier=gold")
    async with exchange(rabbit, layout) as (_, publisher), Subscription(rabbit, wanted, layout=layout) as events:
        first = asyncio.ensure_future(anext(events))
        other = event_message("other", event="state.ready", namespace="team-a", labels={"tier": "gold"})
        silver = event_message("silver", event="upgrade.started", namespace="team-a", labels={"tier": "silver"})
        good = event_message("good", event="upgrade.started", namespace="team-a", labels={"tier": "gold"})
        while not first.done():
            await publisher.publish_many([other, silver, good], exchange=layout.events)
            await asyncio.wait([first], timeout=0.05)
        assert (await first).id == "good"


async def test_a_durable_name_keeps_what_comes_while_nobody_reads(rabbit: str, layout: Layout) -> None:
    """A second run under the same name begins with the event whose successor was never asked for."""
    async with exchange(rabbit, layout) as (broker, publisher):
        topology = layout.client_topology("billing", Filter().bindings())
        await declare.apply(broker, topology)
        await publisher.publish_many(numbered(3), exchange=layout.events)
        async with Subscription(rabbit, Filter(), name="billing", layout=layout) as events:
            assert await take(events, 2) == ["e-0", "e-1"]
        async with Subscription(rabbit, Filter(), name="billing", layout=layout) as events:
            assert await take(events, 2) == ["e-1", "e-2"]
        await declare.delete(broker, topology)


async def test_since_begins_in_the_history_and_goes_on_live_without_a_gap_or_a_copy(
    rabbit: str, layout: Layout
) -> None:
    """Everything published before, during and after the switch comes once and in order."""
    async with exchange(rabbit, layout) as (_, publisher):
        await publisher.publish_many(numbered(500), exchange=layout.events)
        async with Subscription(rabbit, Filter(), since=3600, layout=layout) as events:
            got = await take(events, 300)
            await publisher.publish_many(numbered(500, "f"), exchange=layout.events)
            got += await take(events, 700)
            await publisher.publish_many(numbered(10, "g"), exchange=layout.events)
            got += await take(events, 10)
    assert got == [f"e-{n}" for n in range(500)] + [f"f-{n}" for n in range(500)] + [f"g-{n}" for n in range(10)]


async def test_a_lost_connection_is_mended_and_its_gap_filled(rabbit: str, layout: Layout) -> None:
    """What was published while the connection was cut comes from the history, once."""
    async with exchange(rabbit, layout) as (_, publisher), Proxy.to(rabbit) as proxy:
        cut, reconnect = asyncio.Event(), asyncio.Event()

        async def sleep(_: float) -> None:
            cut.set()
            await reconnect.wait()

        async with Subscription(proxy.url, Filter(), layout=layout, sleep=sleep) as events:
            await connected(events, publisher, layout)
            await publisher.publish(event_message("before"), exchange=layout.events)
            while (await anext(events)).id != "before":
                pass
            proxy.cut()
            following = asyncio.ensure_future(anext(events))
            await cut.wait()
            await publisher.publish_many(numbered(5, "gap"), exchange=layout.events)
            reconnect.set()
            got = [(await following).id]
            while got[-1] != "gap-4":
                got += await take(events, 1)
            await publisher.publish(event_message("after"), exchange=layout.events)
            got += await take(events, 1)
    # the history is read in blocks, so what came just before the view was bound may be among it
    assert [event_id for event_id in got if not event_id.startswith("first-")] == [
        *(f"gap-{n}" for n in range(5)),
        "after",
    ]


async def test_a_broken_message_is_skipped(rabbit: str, layout: Layout) -> None:
    """Bytes that are no event are left out, and the loop goes on."""
    async with exchange(rabbit, layout) as (broker, publisher):
        topology = layout.client_topology("a", Filter().bindings())
        await declare.apply(broker, topology)
        broken = Message(event_message("x").routing_key, b"{", "broken", "t", 0)
        await publisher.publish_many([broken, event_message("good")], exchange=layout.events)
        async with Subscription(rabbit, Filter(), name="a", layout=layout) as events:
            assert await take(events, 1) == ["good"]
        await declare.delete(broker, topology)


async def test_breaking_out_of_the_loop_closes_it(rabbit: str, layout: Layout) -> None:
    """A plain ``async for`` with a break leaves no connection behind."""
    async with exchange(rabbit, layout) as (_, publisher), Proxy.to(rabbit) as proxy:
        await publisher.publish(event_message("one"), exchange=layout.events)
        async for event in subscribe(proxy.url, since="1h", prefix=layout.prefix):
            assert event.id == "one"
            break
        await proxy.idle()


async def test_the_first_connection_has_to_succeed() -> None:
    """A wrong address is told at once instead of being tried for ever."""
    with pytest.raises(BrokerUnavailable):
        await anext(subscribe("amqp://guest:guest@127.0.0.1:1/"))


async def test_since_without_a_history_is_told(rabbit: str, layout: Layout) -> None:
    """Asking for the past of an installation that keeps none is an error, not silence."""
    async with exchange(rabbit, layout, history=False):
        with pytest.raises(TopologyMissing):
            await anext(subscribe(rabbit, since="1h", prefix=layout.prefix))


@pytest.mark.parametrize("arguments", [{"name": "No Name"}, {"since": "yesterday"}])
def test_arguments_are_judged_at_once(arguments: dict[str, str]) -> None:
    """What can be seen to be wrong is said before anything is connected."""
    with pytest.raises(SettingsError):
        subscribe("amqp://h", **arguments)
    with pytest.raises(FilterError):
        subscribe("amqp://h", events=["nonsense.*"])
