"""What the project relies on, once: RabbitMQ and the fake in memory both pass."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.history import Replay
from kamaji_events.broker.topology import Binding, Exchange, Layout, Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.errors import BrokerUnavailable, PublishFailed, TopologyMismatch, TopologyMissing
from tests.support.fake_broker import FakeRabbit
from tests.support.fake_routing import topic_matches
from tests.support.rabbit import fresh

Connect = Callable[[], Broker]


@pytest.fixture(params=["fake", pytest.param("rabbit", marks=pytest.mark.broker)])
def open_broker(request: pytest.FixtureRequest) -> Connect:
    """Opens a connection to the one or the other."""
    if request.param == "fake":
        return FakeRabbit().connect
    url = request.getfixturevalue("rabbit")
    return lambda: connect(url, name="behaviour")


@pytest.fixture
async def broker(open_broker: Connect) -> AsyncIterator[Broker]:
    """A connection."""
    async with open_broker() as opened:
        yield opened


async def queue_of(broker: Broker, arguments: dict[str, object] | None = None) -> str:
    """A queue that ends with the connection."""
    name = fresh()
    await declare.apply(broker, Topology(queues=(Queue(name, arguments or {}, exclusive=True),)))
    return name


async def send(broker: Broker, queue: str, *bodies: bytes) -> None:
    """Put messages into a queue."""
    async with broker.publisher() as publisher:
        await publisher.publish_many([Outgoing(body, queue) for body in bodies], exchange="")


KEYS = ["a.b.c", "a.b", "a", "b.c", "a..c", "x.y.z.w", "a.x.c"]
PATTERNS = ["a.b.c", "a.*.c", "a.#", "#", "*", "#.c", "*.*", "a.#.c", "#.b.#", "*.#", "a.*", "#.#"]


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_topics(broker: Broker, layout: Layout, pattern: str) -> None:
    """A binding takes what the fake's matching says, on both."""
    queue = await queue_of(broker)
    exchange = Exchange(layout.events, "topic")
    await declare.apply(broker, Topology((exchange,), (), (Binding(exchange.name, queue, pattern),)))
    async with broker.publisher() as publisher, broker.consume(queue) as consumer:
        await publisher.publish_many([Outgoing(key.encode(), key) for key in KEYS], exchange=exchange.name)
        await publisher.publish(Outgoing(b"end", queue), exchange="")
        got = []
        while (message := await anext(consumer)).body != b"end":
            got.append(message.routing_key)
    assert got == [key for key in KEYS if topic_matches(pattern, key)]
    await declare.delete(broker, Topology((exchange,)))


@given(
    words=st.lists(st.sampled_from(["a", "b", "*", "#"]), min_size=1, max_size=5),
    key=st.lists(st.sampled_from("ab"), max_size=5),
)
def test_topic_matching_agrees_with_a_regular_expression(words: list[str], key: list[str]) -> None:
    """The same question asked in another way."""
    text = "".join({"*": r"(?:\.[^.]+)", "#": r"(?:\.[^.]+)*"}.get(word, rf"\.{word}") for word in words)
    assert topic_matches(".".join(words), ".".join(key)) == bool(
        re.fullmatch(text, "".join(f".{word}" for word in key))
    )


async def test_order_redelivery_and_prefetch(broker: Broker) -> None:
    """At most prefetch are unacknowledged; what was held comes back in its place, marked."""
    queue = await queue_of(broker)
    await send(broker, queue, *(b"%d" % number for number in range(5)))
    async with broker.consume(queue, 2) as consumer:
        first, second = await anext(consumer), await anext(consumer)
        assert (first.body, second.body, first.redelivered) == (b"0", b"1", False)
        assert await declare.message_count(broker, queue) == 3
        await first.ack()
        assert (await anext(consumer)).body == b"2"
    async with broker.consume(queue, 10) as consumer:
        bodies = [await anext(consumer) for _ in range(4)]
        await bodies[-1].ack(multiple=True)
    assert [(each.body, each.redelivered) for each in bodies] == [
        (b"1", True),
        (b"2", True),
        (b"3", False),
        (b"4", False),
    ]
    assert await declare.message_count(broker, queue) == 0


async def test_unroutable_and_refused(broker: Broker) -> None:
    """A mandatory message without a queue comes back; a full queue refuses."""
    limited = await queue_of(broker, {"x-max-length": 1, "x-overflow": "reject-publish"})
    async with broker.publisher() as publisher:
        with pytest.raises(PublishFailed, match="NO_ROUTE"):
            await publisher.publish(Outgoing(b"", fresh()), exchange="", mandatory=True)
        await publisher.publish(Outgoing(b"", limited), exchange="", mandatory=True)
        with pytest.raises(PublishFailed, match="nack"):
            await publisher.publish_many([Outgoing(b"", limited)] * 50, exchange="")


async def test_missing_and_mismatching(broker: Broker, layout: Layout) -> None:
    """Each ends only its channel, with its own error."""
    with pytest.raises(TopologyMissing, match="no queue"):
        async with broker.consume(fresh()):
            pass
    queue = await queue_of(broker)
    with pytest.raises(TopologyMismatch):
        await declare.apply(broker, Topology(queues=(Queue(queue, {"x-max-length": 5}, exclusive=True),)))
    with pytest.raises(TopologyMissing, match="no exchange"):
        await declare.bind(broker, [Binding(layout.events, queue, "#")])
    await send(broker, queue, b"still here")


async def test_dead_letters_by_rejection_and_by_limit(broker: Broker, layout: Layout) -> None:
    """Rejected at once; returned more often than the limit allows; both keep bytes and get the subscription's key."""
    topology = layout.exchange_topology() + layout.retry_topology((1,)) + layout.subscription_topology("s", ("#",))
    source = Queue(
        fresh(),
        {
            "x-queue-type": "quorum",
            "x-delivery-limit": 1,
            "x-dead-letter-exchange": layout.dead,
            "x-dead-letter-routing-key": "s",
        },
    )
    await declare.apply(broker, topology + Topology(queues=(source,)))
    async with broker.consume(layout.dead_letters("s")) as dead:
        await send(broker, layout.queue("s"), b"rejected")
        async with broker.consume(layout.queue("s")) as consumer:
            await (await anext(consumer)).reject(requeue=False)
        await send(broker, source.name, b"returned")
        for _ in range(2):
            async with broker.consume(source.name) as consumer:
                await anext(consumer)
        got = [await anext(dead) for _ in range(2)]
        await got[-1].ack(multiple=True)
    assert [(each.body, each.routing_key) for each in got] == [(b"rejected", "s"), (b"returned", "s")]
    assert all("x-death" in each.headers for each in got)
    await declare.delete(broker, topology + Topology(queues=(source,)))


async def test_a_hop_through_a_tier(broker: Broker, layout: Layout) -> None:
    """After its second the message is back with its subscription; nobody's goes to the orphans."""
    topology = layout.exchange_topology() + layout.retry_topology((1,)) + layout.subscription_topology("s")
    await declare.apply(broker, topology)
    async with (
        broker.publisher() as publisher,
        broker.consume(layout.queue("s")) as consumer,
        broker.consume(layout.orphans) as orphans,
    ):
        await publisher.publish_many([Outgoing(b"1", "s"), Outgoing(b"2", "gone")], exchange=layout.tier(1))
        back, orphan = await anext(consumer), await anext(orphans)
        await back.ack()
        await orphan.ack()
    assert (back.body, back.routing_key, orphan.body, orphan.routing_key) == (b"1", "s", b"2", "gone")
    await declare.delete(broker, topology)


async def test_a_single_active_consumer_is_followed_by_the_next(open_broker: Connect, layout: Layout) -> None:
    """Only one is given messages; when its connection ends, the next one gets all of them."""
    topology = layout.journal_topology("eu-1")
    queue = layout.journal("eu-1")
    async with open_broker() as second:
        await declare.apply(second, topology)
        await send(second, queue, b"a", b"b")
        async with open_broker() as first, first.consume(queue) as leader, second.consume(queue) as standby:
            assert [(await anext(leader)).body for _ in range(2)] == [b"a", b"b"]
            assert standby.upcoming is None
            waiting = asyncio.ensure_future(anext(standby))
            await first.__aexit__(None, None, None)
            assert (await waiting).body == b"a"
            assert (await anext(standby)).redelivered
        await declare.delete(second, topology)


async def test_a_deleted_queue_ends_its_consumers(broker: Broker) -> None:
    """Told, not silent."""
    queue = await queue_of(broker)
    async with broker.consume(queue) as consumer:
        await declare.delete(broker, Topology(queues=(Queue(queue),)))
        with pytest.raises(BrokerUnavailable, match="cancelled"):
            await anext(consumer)


async def test_an_exclusive_queue_is_its_connections_own(open_broker: Connect) -> None:
    """Another connection cannot use it, and it is gone with its own."""
    async with open_broker() as other:
        async with open_broker() as owner:
            queue = await queue_of(owner)
            with pytest.raises(BrokerUnavailable, match="RESOURCE_LOCKED"):
                async with other.consume(queue):
                    pass
        assert not await declare.exists(other, Queue(queue))


async def test_the_history_is_read_to_its_end(broker: Broker, layout: Layout) -> None:
    """Everything in order, and then it ends by itself."""
    await declare.apply(broker, layout.exchange_topology())
    async with broker.publisher() as publisher:
        await publisher.publish_many([Outgoing(b"%d" % n, "a.b.c.d.e.f") for n in range(100)], exchange=layout.events)
    async with broker.another("history") as reader, Replay(reader, layout.history, ago=3600) as replay:
        bodies = [message.body async for message in replay]
    assert bodies == [b"%d" % n for n in range(100)]
    await declare.delete(broker, layout.exchange_topology())


async def test_a_history_that_others_go_on_filling_has_an_end(broker: Broker, layout: Layout) -> None:
    """Never quiet: what was there at the start is read, and then it ends all the same."""
    await declare.apply(broker, layout.exchange_topology())
    async with broker.publisher() as publisher:
        await publisher.publish_many([Outgoing(b"%d" % n, "a.b.c.d.e.f") for n in range(100)], exchange=layout.events)
        bodies = []
        async with broker.another("history") as reader, Replay(reader, layout.history, ago=None) as replay:
            async for message in replay:
                bodies.append(message.body)
                assert len(bodies) < 5000, "it reads for ever"
                await publisher.publish(Outgoing(b"later", "a.b.c.d.e.f"), exchange=layout.events)
    assert bodies[:100] == [b"%d" % n for n in range(100)]
    await declare.delete(broker, layout.exchange_topology())


async def test_a_witness_goes_with_its_exchange(broker: Broker, layout: Layout) -> None:
    """It stays for as long as the events exchange does, and is gone though that one was declared again at once."""
    witnessed = layout.witness_topology("eu-1")
    events, witness = witnessed.exchanges
    await declare.apply(broker, witnessed)
    await declare.apply(broker, witnessed)
    assert await declare.exists(broker, witness)
    await declare.delete(broker, Topology((events,)))
    await declare.apply(broker, Topology((events,)))
    assert not await declare.exists(broker, witness)
    await declare.delete(broker, Topology((events,)))


async def test_a_cut_connection_of_the_fake_is_told() -> None:
    """As with the real one: waiting consumers and the owner get an error."""
    fake = FakeRabbit()
    async with fake.connect() as broker:
        queue = await queue_of(broker)
        async with broker.consume(queue) as consumer:
            waiting = asyncio.ensure_future(anext(consumer))
            await asyncio.sleep(0)
            fake.cut()
            with pytest.raises(BrokerUnavailable):
                await waiting
            assert isinstance(await broker.lost(), BrokerUnavailable)
