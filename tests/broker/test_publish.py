"""Publishing and consuming on a real broker: confirms, returns, refusals, sizes, bounds, acks."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.topology import Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.errors import BrokerUnavailable, PublishFailed, TopologyMissing
from tests.support.events import event_message
from tests.support.rabbit import fresh

pytestmark = pytest.mark.broker


@pytest.fixture
async def broker(rabbit: str) -> AsyncIterator[Broker]:
    """A connection."""
    async with connect(rabbit, name="test") as opened:
        yield opened


@pytest.fixture
async def queue(broker: Broker) -> str:
    """A queue that goes with the connection."""
    topology = Topology(queues=(Queue(fresh(), exclusive=True),))
    await declare.apply(broker, topology)
    return topology.queues[0].name


def outgoing(queue: str, body: bytes = b"x") -> Outgoing:
    """A message for the default exchange."""
    return Outgoing(body, queue)


async def test_a_message_arrives_with_the_contracts_properties(broker: Broker, queue: str) -> None:
    """Content type, id, type, time, operation, persistence: as the contract's AMQP section says."""
    message = event_message("an-id")
    async with broker.publisher() as publisher, broker.consume(queue) as consumer:
        await publisher.publish(Outgoing(message.body, queue, Outgoing.of(message, {"k": 1}).properties), exchange="")
        got = await anext(consumer)
        await got.ack()
    properties = got.properties
    assert got.body == message.body
    assert dict(got.headers) == {"k": 1}
    assert (properties.content_type, properties.message_id) == ("application/cloudevents+json", "an-id")
    assert (properties.message_type, properties.app_id) == (message.type, "kamaji-events")
    assert properties.delivery_mode == 2
    assert properties.timestamp is not None
    assert int(properties.timestamp.timestamp()) == message.seconds


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 1_000_000])
async def test_bodies_of_any_size_pass(broker: Broker, queue: str, size: int) -> None:
    """A body over the negotiated frame size is split; the edge fits."""
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    async with broker.publisher() as publisher, broker.consume(queue) as consumer:
        await publisher.publish(outgoing(queue, body), exchange="")
        got = await anext(consumer)
        await got.ack()
    assert got.body == body


async def test_many_keep_their_order_within_the_bounds(broker: Broker, queue: str) -> None:
    """Pipelined, at most so many unconfirmed, in order."""
    async with broker.publisher(max_in_flight=7) as publisher, broker.consume(queue, 1000) as consumer:
        sending = asyncio.ensure_future(
            publisher.publish_many([outgoing(queue, b"%d" % number) for number in range(1000)], exchange="")
        )
        bodies: list[int] = []
        while len(bodies) < 1000:
            bodies.append(int((await anext(consumer)).body))
            assert publisher.in_flight <= 7
        await sending
        assert publisher.in_flight == 0
    assert bodies == list(range(1000))


async def test_a_mandatory_message_that_no_queue_takes_comes_back(broker: Broker, queue: str) -> None:
    """Only the one that is unroutable fails, even among equals in flight."""
    nowhere = Outgoing.of(event_message("same"))
    async with broker.publisher() as publisher:
        good = Outgoing(b"x", queue, nowhere.properties)
        results = await asyncio.gather(
            *(publisher.publish(message, exchange="", mandatory=True) for message in (good, nowhere, good)),
            return_exceptions=True,
        )
    assert [type(result) for result in results] == [type(None), PublishFailed, type(None)]
    assert "NO_ROUTE" in str(results[1])


async def test_a_full_queue_refuses_and_the_publisher_lives_on(broker: Broker) -> None:
    """reject-publish gives a nack: the message fails, the channel stays."""
    name = fresh()
    limited = Queue(name, {"x-max-length": 1, "x-overflow": "reject-publish"}, exclusive=True)
    await declare.apply(broker, Topology(queues=(limited,)))
    async with broker.publisher() as publisher:
        await publisher.publish(outgoing(name), exchange="")
        with pytest.raises(PublishFailed, match="nack"):
            await publisher.publish(outgoing(name), exchange="")
        with pytest.raises(PublishFailed, match="nack"):
            await publisher.publish_many([outgoing(name)] * 50, exchange="")
        await publisher.publish(outgoing(await _other(broker)), exchange="")


async def _other(broker: Broker) -> str:
    name = fresh()
    await declare.apply(broker, Topology(queues=(Queue(name, exclusive=True),)))
    return name


async def test_a_missing_exchange_ends_the_channel_and_says_so(broker: Broker) -> None:
    """Everything in flight fails with the broker's words; other channels go on."""
    async with broker.publisher() as publisher, broker.publisher() as other:
        with pytest.raises(TopologyMissing, match="no exchange 'nowhere'"):
            await publisher.publish_many([outgoing("x")] * 3, exchange="nowhere")
        with pytest.raises(TopologyMissing):
            await publisher.publish(outgoing("x"), exchange="")
        await other.publish(outgoing(await _other(broker)), exchange="")


async def test_a_cancelled_publish_leaves_nothing_half_done(broker: Broker, queue: str) -> None:
    """Its confirm is still counted, and the next one works."""
    async with broker.publisher(max_in_flight=1) as publisher:
        task = asyncio.ensure_future(publisher.publish(outgoing(queue), exchange=""))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await publisher.publish(outgoing(queue), exchange="")
        assert publisher.in_flight == 0


async def test_what_is_not_acknowledged_comes_again(broker: Broker, queue: str) -> None:
    """Leaving a consumer gives back what it holds; what was acknowledged just before is gone."""
    async with broker.publisher() as publisher:
        await publisher.publish_many([outgoing(queue, b"%d" % number) for number in range(3)], exchange="")
    async with broker.consume(queue) as consumer:
        for _ in range(2):
            last = await anext(consumer)
        await last.ack(multiple=True)
        assert not last.redelivered
    async with broker.consume(queue) as consumer:
        again = await anext(consumer)
        await again.ack()
    assert (again.body, again.redelivered) == (b"2", True)


async def test_rejected_and_given_back(broker: Broker, queue: str) -> None:
    """With requeue it comes again, without it is gone."""
    async with broker.publisher() as publisher, broker.consume(queue) as consumer:
        await publisher.publish(outgoing(queue), exchange="")
        await (await anext(consumer)).reject(requeue=True)
        await (await anext(consumer)).nack(requeue=True)
        await (await anext(consumer)).reject(requeue=False)
        await publisher.publish(outgoing(queue, b"next"), exchange="")
        assert (await anext(consumer)).body == b"next"


async def test_pausing_keeps_what_is_here_and_takes_no_more(broker: Broker, queue: str) -> None:
    """While paused only what was delivered is iterated over; then it goes on where it was."""
    async with broker.publisher() as publisher, broker.consume(queue) as consumer:
        await publisher.publish(outgoing(queue, b"a"), exchange="")
        await (await anext(consumer)).ack()
        await consumer.pause()
        await publisher.publish(outgoing(queue, b"b"), exchange="")
        waiting = asyncio.ensure_future(anext(consumer))
        assert await declare.message_count(broker, queue) == 1
        assert not waiting.done()
        await consumer.resume()
        await (await waiting).ack()
        await consumer.stop()
        assert [message async for message in consumer] == []


async def test_a_queue_deleted_underneath_is_an_error(broker: Broker, queue: str) -> None:
    """The broker's cancel on an open channel is told, and the channel can be left."""
    async with broker.consume(queue) as consumer:
        waiting = asyncio.ensure_future(anext(consumer))
        await declare.delete(broker, Topology(queues=(Queue(queue),)))
        with pytest.raises(BrokerUnavailable, match="deleted"):
            await waiting
    async with broker.channel() as channel:
        assert channel.number == 1


async def test_a_retry_leaves_the_brokers_headers_behind(broker: Broker, queue: str) -> None:
    """Own headers are carried and set, every x- header is dropped."""
    properties = Outgoing.of(event_message("id"), {"x-death": "old", "x-any": 1, "attempt": 1, "kept": "k"}).properties
    async with broker.publisher() as publisher, broker.consume(queue) as consumer:
        await publisher.publish(Outgoing(b"body", queue, properties), exchange="")
        got = await anext(consumer)
        await publisher.publish(Outgoing.again(got, routing_key=queue, headers={"attempt": 2}), exchange="")
        again = await anext(consumer)
        await again.ack(multiple=True)
    assert dict(again.headers) == {"attempt": 2, "kept": "k"}
    assert (again.body, again.properties.message_id) == (b"body", "id")
