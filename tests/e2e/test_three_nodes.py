"""A cluster of three RabbitMQ nodes loses one under a publisher at work: whoever else has the queues goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kamaji_events.broker.node import RabbitNode
from kamaji_events.broker.topology import Layout
from kamaji_events.client import subscribe
from kamaji_events.simulator import Simulator, Store
from tests.support.cut_proxy import Proxy
from tests.support.installation import Installation, eventually, installation
from tests.support.inventing import furnish
from tests.support.playing import Playing
from tests.support.rabbit import need_rabbit

pytestmark = [pytest.mark.broker, pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(300)]


class Cluster:
    """Three nodes and a door to one of them, as a Service or a load balancer is."""

    def __init__(self, nodes: list[RabbitNode], door: Proxy) -> None:
        self.nodes, self.door = nodes, door

    def enter_by(self, number: int) -> None:
        """Lead new connections to this node."""
        self.door.turn_to(self.nodes[number].url)

    async def leaders(self, prefix: str) -> set[str]:
        """Nodes that lead the installation's quorum queues, as the second node knows it."""
        listed = await self.nodes[1].ctl("list_queues", "name", "type", "leader", "--silent")
        rows = [line.split() for line in listed.splitlines()]
        return {row[2] for row in rows if len(row) > 2 and row[0].startswith(prefix) and row[1] == "quorum"}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """Three running nodes that know each other."""
    need_rabbit()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(RabbitNode())
        nodes = [first]
        for _ in range(2):
            node = await stack.enter_async_context(RabbitNode(beside=first))
            await node.join(first)
            nodes.append(node)
        async with Proxy.to(first.url) as door:
            yield Cluster(nodes, door)


@pytest.fixture
async def place(cluster: Cluster, layout: Layout, tmp_path: Path) -> AsyncIterator[Installation]:
    """An installation whose queues are led by the first node, since they are declared there."""
    cluster.enter_by(0)
    sim = Simulator(furnish(Store()))
    async with sim, installation(sim, cluster.door.url, layout, tmp_path) as made:
        yield made


async def whole_history(place: Installation) -> None:
    """The history has each event, too."""
    wanted = {event.id for event in place.ears.tenants()}
    async with asyncio.timeout(30), subscribe(place.url, since="1h", prefix=place.layout.prefix) as history:
        while wanted:
            wanted.discard((await anext(history)).id)


async def test_the_node_that_everybody_uses(cluster: Cluster, place: Installation) -> None:
    """It leads every queue and has every connection: all move to another, nothing is lost, and it may come back."""
    assert len(await cluster.leaders(place.layout.prefix)) == 1
    async with place.replica() as replica:
        playing = Playing(place, replica)
        await playing.begin()
        playing.more(2)
        await cluster.nodes[0].settle()
        cluster.enter_by(1)
        cluster.nodes[0].kill()
        playing.more(3)
        await eventually(lambda: not replica.service.leads.is_set())
        await replica.leading()
        await playing.over()
        await cluster.nodes[0].start()
        playing.more()
        await playing.over()
        await whole_history(place)


async def test_the_node_that_leads_the_queues(cluster: Cluster, place: Installation) -> None:
    """The publisher's own connection lives on; the queues find another leader, and the events go on."""
    former = await cluster.leaders(place.layout.prefix)
    cluster.enter_by(1)
    cluster.door.cut()
    async with place.replica() as replica:
        playing = Playing(place, replica)
        await playing.begin()
        assert await cluster.leaders(place.layout.prefix) == former
        playing.more(2)
        await cluster.nodes[0].settle()
        cluster.nodes[0].kill()
        playing.more(3)
        await playing.over()
        assert await cluster.leaders(place.layout.prefix) != former
        await cluster.nodes[0].start()
        await whole_history(place)


async def test_a_node_that_only_holds_copies(cluster: Cluster, place: Installation) -> None:
    """A majority is left: the publisher notices nothing at all."""
    async with place.replica() as replica:
        playing = Playing(place, replica)
        await playing.begin()
        await cluster.nodes[2].settle()
        cluster.nodes[2].kill()
        playing.more(3)
        await playing.over()
        assert place.ears.names("a").count("state.leading") == 1
        await cluster.nodes[2].start()
        await whole_history(place)
