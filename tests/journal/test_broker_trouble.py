"""The journal when the broker, or the leader's whole node, is in trouble; on a node of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.node import RabbitNode
from kamaji_events.broker.topology import Layout
from kamaji_events.errors import BrokerError, TopologyMissing
from publisher.journal.journal import Journal
from publisher.journal.policy import JournalPolicy
from publisher.memory import Term
from tests.support.cut_proxy import Proxy
from tests.support.journal import CLUSTER, Place, batch, leading

pytestmark = pytest.mark.broker


@pytest.fixture
async def place(private_node: RabbitNode, layout: Layout) -> AsyncIterator[Place]:
    """As for the other journal tests, on a node that may be killed and alarmed."""
    topology = layout.exchange_topology() + layout.client_topology("all", ("#",)) + layout.journal_topology(CLUSTER)
    async with connect(private_node.url, name="test") as broker:
        await declare.apply(broker, topology)
    yield Place(private_node.url, layout, broker)
    async with connect(private_node.url, name="test") as broker:
        with suppress(TopologyMissing):  # a stream may still be coming up after a kill; the node ends with the run
            await declare.delete(broker, topology)


async def told(place: Place) -> list[str]:
    """Over a new connection: the old one may be gone."""
    async with connect(place.url, name="test") as broker:
        return await Place(place.url, place.layout, broker).told()


async def test_a_killed_broker_keeps_every_confirmed_batch(place: Place, private_node: RabbitNode) -> None:
    """SIGKILL of RabbitMQ under the leader; after its restart everything that was confirmed is there, once."""
    await asyncio.sleep(1)  # a queue younger than half a second may lose what was confirmed: RabbitMQ's, not ours
    journal = place.journal()
    confirmed = await commit_until_killed(place, journal, private_node)
    await private_node.start()
    async with leading(place, journal) as term:
        assert term.recovered.own in (confirmed, confirmed + 1)
        assert term.next == (term.recovered.own or 0) + 1
        assert term.recovered.objects["a"] == b"%d" % (term.next - 1)
    ids = await told(place)
    assert list(dict.fromkeys(ids)) == [f"{number}.0" for number in range(1, term.next)]


async def commit_until_killed(place: Place, journal: Journal, node: RabbitNode) -> int:
    """Batch after batch; the node is killed while the twentieth is on its way. Gives back how many were confirmed."""
    async with leading(place, journal) as term:
        for number in range(1, 20):
            await term.commit(batch(number))
        await node.settle()
        last = asyncio.ensure_future(term.commit(batch(20)))
        await asyncio.sleep(0)
        node.kill()
        error = (await asyncio.gather(last, return_exceptions=True))[0]
    return 19 if isinstance(error, BrokerError) else 20


async def test_a_leaders_node_that_vanishes_is_followed(place: Place) -> None:
    """No FIN, no reset: the broker's heartbeat gives the token to the standby, the old leader has no voice."""
    async with Proxy.to(place.url) as proxy:
        async with (
            connect(proxy.url, name="leader", heartbeat=1) as broker,
            place.journal().lead(broker) as term,
        ):
            await term.commit(batch(1))
            proxy.swallow()
            lost = asyncio.ensure_future(try_to_commit(term))
            async with leading(place) as second:
                assert (second.recovered.term, second.next) == (2, 2)
                await second.commit(batch(2, objects="b"))
                assert isinstance(await lost, BrokerError)
        proxy.flow()
    async with leading(place) as third:
        assert dict(third.recovered.objects) == {"a": b"1", "b": b"2"}
    assert list(dict.fromkeys(await told(place))) == ["1.0", "2.0"]


async def try_to_commit(term: Term) -> BaseException:
    """What becomes of a batch that nobody hears."""
    try:
        await term.commit(batch(99))
    except BrokerError as error:
        return error
    raise AssertionError("nobody can have confirmed it")


async def test_an_alarm_holds_up_and_loses_nothing(place: Place, private_node: RabbitNode) -> None:
    """While RabbitMQ blocks publishers a batch waits, is sent again with the same bytes, and passes afterwards."""
    journal = place.journal(JournalPolicy(timeout=0.3, patience=0, settle=0))
    async with leading(place, journal) as term:
        await term.commit(batch(1))
        await private_node.ctl("set_vm_memory_high_watermark", "0.00001")
        try:
            committing = asyncio.ensure_future(term.commit(batch(2)))
            await asyncio.wait([committing], timeout=1.5)
            assert not committing.done()
        finally:
            await private_node.ctl("set_vm_memory_high_watermark", "0.6")
        await committing
        await term.commit(batch(3))
    async with leading(place) as term:
        assert (term.recovered.objects["a"], term.next) == (b"3", 4)
    assert list(dict.fromkeys(await told(place))) == ["1.0", "2.0", "3.0"]


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_leadership_outlasts_the_consumer_timeout(layout: Layout) -> None:
    """With consumer_timeout at a minute, renewing keeps the token for three of them without a flap."""
    async with RabbitNode(config="consumer_timeout = 60000") as node:
        topology = layout.exchange_topology() + layout.journal_topology(CLUSTER)
        async with connect(node.url, name="test") as broker:
            await declare.apply(broker, topology)
            place = Place(node.url, layout, broker)
            journal = place.journal(JournalPolicy(patience=0, settle=0, renew=20))
            async with leading(place, journal) as term:
                await term.commit(batch(1))
                await asyncio.sleep(240)
                await term.commit(batch(2))
                assert term.recovered.term == 1
