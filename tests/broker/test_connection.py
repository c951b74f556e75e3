"""The connection: what is refused, what is lost, and that nobody waits for ever."""

import asyncio

import pytest
from yarl import URL

from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.node import RabbitNode
from kamaji_events.broker.topology import Layout, Queue, Topology
from kamaji_events.errors import BrokerError, BrokerRefused, BrokerUnavailable, PublishFailed, SettingsError
from tests.support.cut_proxy import Proxy
from tests.support.events import event_message
from tests.support.rabbit import fresh

pytestmark = pytest.mark.broker


async def refusal(url: str) -> BrokerError:
    """What connecting to it says."""
    with pytest.raises(BrokerError) as caught:
        async with connect(url, name="test"):
            pass
    return caught.value


async def test_a_wrong_password_is_refused_and_never_repeated(rabbit: str) -> None:
    """The error names the place; the password stands nowhere in it or its causes."""
    error: BaseException | None = await refusal(str(URL(rabbit).with_password("s3cret-pw")))
    assert isinstance(error, BrokerRefused)
    assert "ACCESS_REFUSED" in str(error)
    while error is not None:
        assert "s3cret-pw" not in f"{error} {error!r}"
        error = error.__cause__


async def test_an_unknown_vhost_is_refused_by_name(rabbit: str) -> None:
    """The vhost is named."""
    error = await refusal(str(URL(rabbit).with_path("/nowhere")))
    assert isinstance(error, BrokerRefused)
    assert "vhost nowhere not found" in str(error)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("amqp://guest:guest@127.0.0.1:1/", "nothing listens there (connection refused)"),
        ("amqp://guest:guest@no-such-host.invalid/", "host name is not known"),
    ],
)
async def test_what_is_not_there_is_unavailable(url: str, words: str) -> None:
    """Refused connections and unknown names can get better by themselves."""
    error = await refusal(url)
    assert isinstance(error, BrokerUnavailable)
    assert words in str(error)


async def test_tls_to_a_plain_port_says_so(rabbit: str) -> None:
    """The usual mistake has its own words."""
    error = await refusal(str(URL(rabbit).with_scheme("amqps").with_port(URL(rabbit).port or 5672)))
    assert "TLS failed" in str(error)


@pytest.mark.parametrize("url", ["http://host/", "amqp://", "amqp://user:pw@host:99999999/", "nonsense"])
def test_an_unreadable_url_is_an_input_error_without_the_url(url: str) -> None:
    """Its text is not repeated: it may hold a password."""
    with pytest.raises(SettingsError, match="AMQP_URL") as caught:
        connect(url, name="test")
    assert "pw" not in str(caught.value)


async def test_a_silent_peer_is_given_up_while_connecting() -> None:
    """A port that accepts and says nothing does not hold connecting for ever."""

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BrokerUnavailable, match="no answer in time"):
            async with connect(f"amqp://guest:guest@127.0.0.1:{port}/", name="test", timeout=0.1):
                pass


async def test_a_cut_connection_is_told_to_everybody_who_waits(rabbit: str) -> None:
    """Consumer, publisher, call and owner all get an error; nothing ends silently, nothing hangs."""
    queue = Topology(queues=(Queue(fresh(), exclusive=True),))
    async with Proxy.to(rabbit) as proxy, connect(proxy.url, name="test") as broker:
        await declare.apply(broker, queue)
        async with broker.consume(queue.queues[0].name) as consumer, broker.publisher() as publisher:
            waiting = asyncio.ensure_future(anext(consumer))
            owner = asyncio.ensure_future(broker.lost())
            await asyncio.sleep(0)
            proxy.cut()
            with pytest.raises(BrokerUnavailable):
                await waiting
            assert isinstance(await owner, BrokerUnavailable)
            with pytest.raises(BrokerUnavailable):
                await publisher.publish(event_message("x"), exchange="")
            with pytest.raises(BrokerUnavailable):
                broker.channel()


async def test_a_peer_that_swallows_everything_is_noticed_by_its_heartbeat(rabbit: str) -> None:
    """No FIN, no reset: after three heartbeats the connection counts as lost, and leaving it takes no time."""
    async with Proxy.to(rabbit) as proxy, connect(proxy.url, name="test", heartbeat=1) as broker:
        proxy.swallow()
        assert isinstance(await broker.lost(), BrokerUnavailable)
        proxy.flow()


async def test_an_alarm_is_seen_and_publishing_does_not_hang(private_node: RabbitNode, layout: Layout) -> None:
    """While RabbitMQ blocks publishers the connection says so, and a publish fails in its time."""
    async with connect(private_node.url, name="test") as broker:
        await declare.apply(broker, Topology(exchanges=layout.exchange_topology().exchanges))
        await private_node.ctl("set_vm_memory_high_watermark", "0.00001")
        try:
            async with broker.publisher(timeout=0.2) as publisher:
                with pytest.raises(PublishFailed, match=r"within 0\.2 s"):
                    await publisher.publish(event_message("a"), exchange=layout.events)
                assert broker.blocked
                await private_node.ctl("set_vm_memory_high_watermark", "0.6")
                await broker.unblocked()
                await publisher.publish(event_message("b"), exchange=layout.events)
                assert not broker.blocked
        finally:
            await private_node.ctl("set_vm_memory_high_watermark", "0.6")


async def test_channel_numbers_are_used_again(rabbit: str) -> None:
    """Opening and closing channels for ever does not run out of numbers."""
    async with connect(rabbit, name="test") as broker:
        numbers = set()
        for _ in range(20):
            async with broker.channel() as one, broker.channel() as other:
                numbers |= {one.number, other.number}
        assert numbers == {1, 2}


async def test_a_killed_node_is_a_lost_connection(private_node: RabbitNode) -> None:
    """SIGKILL of the broker, and the same data afterwards."""
    queue = Topology(queues=(Queue(fresh(), {"x-queue-type": "quorum"}),))
    async with connect(private_node.url, name="test") as broker:
        await declare.apply(broker, queue)
        await private_node.settle()
        private_node.kill()
        assert isinstance(await broker.lost(), BrokerUnavailable)
    await private_node.start()
    async with connect(private_node.url, name="test") as broker:
        assert await declare.exists(broker, queue.queues[0])
