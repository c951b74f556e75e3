"""The queue sink and the sinks' memory on a real broker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from consumers.sinks.base import Delivered, Failed, Outcome, Sink
from consumers.sinks.context import SinkContext
from consumers.sinks.notes import BrokerMemory, notes_topology
from consumers.sinks.registry import build
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.declare import apply, delete, message_count
from kamaji_events.broker.topology import Binding, Exchange, Queue, Topology
from kamaji_events.errors import SettingsError
from tests.support.rabbit import fresh
from tests.support.samples import sample_delivery

Make = Callable[..., Sink]

pytestmark = pytest.mark.broker


@asynccontextmanager
async def _declared(url: str, topology: Topology) -> AsyncIterator[Broker]:
    async with connect(url, name="test") as broker:
        await apply(broker, topology)
        try:
            yield broker
        finally:
            await delete(broker, topology)


async def test_into_a_queue_of_ones_own_broker(make: Make, rabbit: str) -> None:
    """The bytes are the event's, the properties those of the contract."""
    name = fresh("q")
    async with _declared(rabbit, Topology(queues=(Queue(name, {"x-queue-type": "quorum"}),))) as broker:
        sink = make("queue", {"queue": name}, amqp_url=rabbit)
        delivery = sample_delivery()
        outcomes = await asyncio.gather(*(sink.deliver(delivery) for _ in range(20)))
        assert outcomes == [Delivered()] * 20
        async with broker.consume(name) as consumer:
            incoming = await anext(consumer)
            await incoming.ack()
    assert incoming.body == delivery.event.raw
    assert incoming.properties.message_id == delivery.event.id
    assert incoming.properties.correlation_id == delivery.event.operationid
    assert incoming.properties.content_type == "application/cloudevents+json"
    assert incoming.properties.message_type == delivery.event.type


async def test_into_an_exchange_by_the_events_own_key(make: Make, rabbit: str) -> None:
    """Another topic exchange gets events under the keys that they have in the first one."""
    name = fresh("x")
    topology = Topology(
        (Exchange(name, "topic"),), (Queue(name),), (Binding(name, name, "tenantcontrolplane.upgrade.*.#"),)
    )
    async with _declared(rabbit, topology) as broker:
        sink = make("queue", {"url": {"fromEnv": "OTHER"}, "exchange": name}, environ={"OTHER": rabbit})
        assert await sink.deliver(sample_delivery()) == Delivered()
        unroutable = await sink.deliver(sample_delivery("state.ready"))
        assert isinstance(unroutable, Failed)
        assert "no queue takes 'tenantcontrolplane.state.ready.eu-1.tenants.acme'" in unroutable.error
        fixed = make("queue", {"exchange": name, "routingKey": "tenantcontrolplane.upgrade.x.y"}, amqp_url=rabbit)
        assert await fixed.deliver(sample_delivery("state.ready")) == Delivered()
        async with broker.consume(name) as consumer:
            assert (await anext(consumer)).routing_key == "tenantcontrolplane.upgrade.completed.eu-1.tenants.acme"


async def test_what_is_missing_is_a_failure_until_it_is_there(make: Make, rabbit: str) -> None:
    """No queue, no exchange: failures; when it was made, the same sink delivers."""
    name = fresh("q")
    sink = make("queue", {"queue": name}, amqp_url=rabbit)
    other = make("queue", {"exchange": name}, amqp_url=rabbit)
    assert isinstance(await sink.deliver(sample_delivery()), Failed)
    missing = await other.deliver(sample_delivery())
    assert isinstance(missing, Failed)
    topology = Topology((Exchange(name, "fanout"),), (Queue(name),), (Binding(name, name),))
    async with _declared(rabbit, topology):
        assert await sink.deliver(sample_delivery()) == Delivered()
        assert await other.deliver(sample_delivery()) == Delivered()


async def test_a_lost_connection_is_opened_again(make: Make, rabbit: str) -> None:
    """The delivery in whose time it was lost fails, the next one has a new connection."""
    name = fresh("q")
    async with _declared(rabbit, Topology(queues=(Queue(name),))):
        sink: Any = make("queue", {"queue": name}, amqp_url=rabbit)
        assert await sink.deliver(sample_delivery()) == Delivered()
        sink._broker._abort()
        await sink._broker.lost()
        assert await sink.deliver(sample_delivery()) == Delivered()


async def test_over_tls_what_is_routable_is_confirmed_and_what_is_not_fails(
    make: Make, tls_node: tuple[int, Path]
) -> None:
    """To a broker whose authority is the sink's own setting: the same promises as without TLS."""
    (port, authority), name = tls_node, fresh("x")
    url = f"amqps://guest:guest@localhost:{port}/"
    topology = Topology(
        (Exchange(name, "topic"),), (Queue(name),), (Binding(name, name, "tenantcontrolplane.upgrade.*.#"),)
    )
    async with _declared(f"{url}?cafile={authority}", topology) as broker:
        tls = {"tls": {"ca": str(authority)}, "url": {"fromEnv": "OTHER"}}
        sink = make("queue", {"exchange": name, **tls}, environ={"OTHER": url})
        delivery = sample_delivery()
        assert await asyncio.gather(*(sink.deliver(delivery) for _ in range(20))) == [Delivered()] * 20
        assert await message_count(broker, name) == 20
        for nowhere in (sink.deliver(sample_delivery("state.ready")), _into_no_queue(make, tls, url)):
            unroutable = await nowhere
            assert isinstance(unroutable, Failed)
            assert "no queue takes" in unroutable.error
        assert await sink.deliver(delivery) == Delivered()
        async with broker.consume(name) as consumer:
            assert (await anext(consumer)).body == delivery.event.raw
        untrusting = make("queue", {"exchange": name, "url": {"fromEnv": "OTHER"}}, environ={"OTHER": url})
        refused = await untrusting.deliver(delivery)
        assert isinstance(refused, Failed)
        assert "certificate is not trusted" in refused.error


async def _into_no_queue(make: Make, tls: dict[str, Any], url: str) -> Outcome:
    return await make("queue", {"queue": fresh("gone"), **tls}, environ={"OTHER": url}).deliver(sample_delivery())


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("amqp://guest:guest@127.0.0.1:1/", "broker: "),
        ("amqp://nobody:wrong@127.0.0.1:{port}/", "broker: "),
        ("amqps://guest:guest@127.0.0.1:{port}/", "broker: "),
    ],
)
async def test_a_broker_that_is_not_there_or_says_no(make: Make, rabbit: str, url: str, told: str) -> None:
    """Each is a failure without the password."""
    port = rabbit.rpartition(":")[2].partition("/")[0]
    sink = make("queue", {"url": {"fromEnv": "OTHER"}, "queue": "q"}, environ={"OTHER": url.format(port=port)})
    outcome = await sink.deliver(sample_delivery())
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith(told)
    assert "guest:guest" not in outcome.error
    assert "wrong" not in outcome.error


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "queue: needs exactly one of queue and exchange"),
        ({"queue": "q", "exchange": "x"}, "needs exactly one of queue and exchange"),
        ({"queue": "q", "routingKey": "x"}, "routingKey is for an exchange"),
        ({"queue": "q", "url": "amqp://me:secret@host/"}, "url holds a password"),
        ({"queue": "q", "url": "http://host/"}, "url must start with amqp://"),
        ({"exchange": "kamaji.events"}, "they would go round for ever"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], told: str) -> None:
    """Each is told with its key."""
    with pytest.raises(SettingsError) as caught:
        build("queue", settings, context=SinkContext(amqp_url="amqp://localhost/"))
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_broker_must_be_known() -> None:
    """Without the worker's own broker a URL is needed."""
    with pytest.raises(SettingsError, match="queue: url is missing"):
        build("queue", {"queue": "q"})


@asynccontextmanager
async def _memory(url: str, stream: str, clock: Callable[[], float]) -> AsyncIterator[BrokerMemory]:
    async with (
        connect(url, name="reading") as reading,
        connect(url, name="writing") as writing,
        writing.publisher() as publisher,
        asyncio.TaskGroup() as tasks,
    ):
        memory = BrokerMemory(reading, publisher, stream, clock=clock)
        running = tasks.create_task(memory.run())
        await memory.loaded.wait()
        yield memory
        running.cancel()


async def test_notes_are_shared_and_outlive_their_writer(rabbit: str) -> None:
    """Two workers see each other's notes, the later one counts, and a new worker finds them."""
    stream, now = fresh("notes"), 1000.0
    async with _declared(rabbit, notes_topology(stream)):
        async with _memory(rabbit, stream, lambda: now) as one, _memory(rabbit, stream, lambda: now) as two:
            await one.put("a", b"1")
            await one.put("b", b"1", keep=10)
            await two.put("a", b"2")
            await two.put("c", b"3")
            await two.delete("c")
            assert await two.get("a") == b"2"
            await one.put("d", b"4")
            assert await one.get("a") == b"2"
            with pytest.raises(ValueError, match="at most 65536 are kept"):
                await one.put("e", b"x" * 70_000)
        async with _memory(rabbit, stream, lambda: now) as three:
            assert [await three.get(key) for key in "abcde"] == [b"2", b"1", None, b"4", None]
            now += 11
            assert await three.get("b") is None


async def test_of_several_claims_one_stands_everywhere_until_it_ends(rabbit: str) -> None:
    """Claimed at once by two workers: both know whose it is; it gives way when it is deleted, or over."""
    stream, now = fresh("notes"), 1000.0
    async with _declared(rabbit, notes_topology(stream)):
        async with _memory(rabbit, stream, lambda: now) as one, _memory(rabbit, stream, lambda: now) as two:
            first, second = await asyncio.gather(one.claim("a", b"1", keep=10), two.claim("a", b"2", keep=10))
            assert first == second
            assert first in (b"1", b"2")
            assert await two.claim("a", b"3", keep=10) == first
            await one.delete("a")
            assert await two.claim("a", b"4", keep=10) == b"4"
            now += 11
            assert await one.claim("a", b"5", keep=10) == b"5"
        async with _memory(rabbit, stream, lambda: now) as three:
            assert await three.get("a") == b"5"
