"""The topology: declared, judged, deleted; and what its arguments do on a real broker."""

import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.declare import State
from kamaji_events.broker.topology import TIERS, Exchange, Layout, Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.errors import SettingsError, TopologyMismatch, TopologyMissing
from tests.support.events import event_message

pytestmark = pytest.mark.broker


def whole(layout: Layout) -> Topology:
    """All kinds of parts, with two tiers."""
    return (
        layout.exchange_topology(segment_bytes=1_000_000)
        + layout.retry_topology((1, 2))
        + layout.subscription_topology("billing", ("#",))
        + layout.journal_topology("eu-1")
        + layout.client_topology("me", ("#",))
    )


async def test_plan_apply_verify_delete(rabbit: str, layout: Layout) -> None:
    """Missing, then present with equal arguments, applied twice without harm, then missing again."""
    topology = whole(layout)
    async with connect(rabbit, name="test") as broker:
        assert {step.state for step in (await declare.plan(broker, topology)).steps} == {State.MISSING}
        with pytest.raises(TopologyMissing, match=layout.events):
            await declare.verify(broker, topology)
        await declare.apply(broker, topology)
        await declare.apply(broker, topology)
        await declare.verify(broker, topology)
        await declare.delete(broker, topology)
        await declare.delete(broker, topology)
        assert {step.state for step in (await declare.plan(broker, topology)).steps} == {State.MISSING}


async def test_other_arguments_are_named(rabbit: str, layout: Layout) -> None:
    """A mismatch says the queue, the argument and both values, in the broker's words."""
    async with connect(rabbit, name="test") as broker:
        await declare.apply(broker, layout.exchange_topology())
        other = layout.exchange_topology(history_age="1D")
        (step,) = (await declare.plan(broker, other)).of(State.MISMATCH)
        assert "x-max-age" in str(step)
        with pytest.raises(TopologyMismatch, match="7D"):
            await declare.verify(broker, other)
        with pytest.raises(TopologyMismatch, match=layout.history):
            await declare.apply(broker, other)
        with pytest.raises(TopologyMismatch, match="type"):
            await declare.apply(broker, Topology(exchanges=(Exchange(layout.events, "fanout"),)))
        await declare.delete(broker, layout.exchange_topology())


async def test_a_delayed_message_comes_back_to_its_subscription(rabbit: str, layout: Layout) -> None:
    """A hop through the one-second tier keeps key, bytes and own headers."""
    topology = whole(layout)
    async with connect(rabbit, name="test") as broker:
        await declare.apply(broker, topology)
        async with broker.publisher() as publisher, broker.consume(layout.queue("billing")) as consumer:
            properties = Outgoing.of(event_message("id"), {"attempt": 2}).properties
            await publisher.publish(Outgoing(b"body", "billing", properties), exchange=layout.tier(1))
            got = await anext(consumer)
            await got.ack()
        await declare.delete(broker, topology)
    assert (got.body, got.routing_key, got.headers["attempt"]) == (b"body", "billing", 2)


async def test_the_retry_of_a_subscription_that_is_gone_ends_as_an_orphan(rabbit: str, layout: Layout) -> None:
    """It blocks nobody: orphans keep it for a person."""
    topology = whole(layout)
    async with connect(rabbit, name="test") as broker:
        await declare.apply(broker, topology)
        async with broker.publisher() as publisher, broker.consume(layout.orphans) as consumer:
            await publisher.publish(Outgoing(b"body", "gone"), exchange=layout.tier(1))
            got = await anext(consumer)
            await got.ack()
        await declare.delete(broker, topology)
    assert got.routing_key == "gone"


async def test_a_rejected_message_ends_in_the_dead_letters(rabbit: str, layout: Layout) -> None:
    """At once, with the event's bytes."""
    topology = whole(layout)
    async with connect(rabbit, name="test") as broker:
        await declare.apply(broker, topology)
        async with (
            broker.publisher() as publisher,
            broker.consume(layout.queue("billing")) as consumer,
            broker.consume(layout.dead_letters("billing")) as dead,
        ):
            await publisher.publish(event_message("id"), exchange=layout.events)
            await (await anext(consumer)).reject(requeue=False)
            got = await anext(dead)
            await got.ack()
        await declare.delete(broker, topology)
    assert got.properties.message_id == "id"


async def test_unbinding_suspends(rabbit: str, layout: Layout) -> None:
    """Unbound it gets nothing; unbinding twice is fine."""
    topology = whole(layout)
    bindings = [binding for binding in topology.bindings if binding.queue == layout.queue("billing")]
    async with connect(rabbit, name="test") as broker:
        await declare.apply(broker, topology)
        await declare.unbind(broker, bindings)
        await declare.unbind(broker, bindings)
        async with broker.publisher() as publisher, broker.consume(layout.queue("billing")) as consumer:
            await publisher.publish(event_message("unseen"), exchange=layout.events)
            await declare.bind(broker, bindings)
            await publisher.publish(event_message("seen"), exchange=layout.events)
            got = await anext(consumer)
            await got.ack()
        await declare.delete(broker, topology)
    assert got.properties.message_id == "seen"


def test_no_queue_relies_on_an_unset_or_negative_delivery_limit() -> None:
    """-1 and unset mean opposite things in RabbitMQ 3.10 and 4.x: every quorum queue says a positive number."""
    topology = whole(Layout())
    quorum = [queue for queue in topology.queues if queue.arguments.get("x-queue-type") == "quorum"]
    assert len(quorum) == 7
    assert all(queue.arguments["x-delivery-limit"] > 0 for queue in quorum)


def test_at_least_once_stands_only_with_what_it_needs() -> None:
    """Without reject-publish and an exchange RabbitMQ silently falls back to at most once."""
    for queue in whole(Layout()).queues:
        if "x-dead-letter-strategy" in queue.arguments:
            assert queue.arguments["x-overflow"] == "reject-publish"
            assert queue.arguments["x-dead-letter-exchange"]


def test_names_are_the_contracts() -> None:
    """Operators and dashboards know them."""
    layout = Layout()
    assert (layout.events, layout.history, layout.tier(TIERS[-1])) == (
        "kamaji.events",
        "kamaji.history",
        "kamaji.retry.32768s",
    )
    assert (layout.queue("a"), layout.queue("a", 2), layout.dead_letters("a")) == (
        "kamaji.sub.a",
        "kamaji.sub.a.v2",
        "kamaji.dead.a",
    )
    assert layout.journal("eu-1") == "kamaji.journal.eu-1"


@pytest.mark.parametrize("name", ["", "Billing", "a.b", "-a", "a" * 64, "a_b"])
def test_a_subscription_name_that_cannot_be_a_key_is_refused(name: str) -> None:
    """It becomes a routing key and part of queue names."""
    with pytest.raises(SettingsError, match="subscription name"):
        Layout().queue(name)


def test_joining_topologies_keeps_each_part_once() -> None:
    """Order is kept, copies are dropped."""
    one = Topology((Exchange("e", "fanout"),), (Queue("q"),))
    assert one + one == one
