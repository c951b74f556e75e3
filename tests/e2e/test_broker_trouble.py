"""RabbitMQ in every kind of trouble under a publisher at work: the watch goes on, nothing is lost, it recovers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.node import RabbitNode
from kamaji_events.broker.topology import Binding, Layout, Queue, Topology
from kamaji_events.simulator import Simulator, Store
from tests.support.installation import Installation, eventually, installation
from tests.support.inventing import furnish
from tests.support.playing import Playing

pytestmark = [pytest.mark.broker, pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.fixture
async def place(private_node: RabbitNode, layout: Layout, tmp_path: Path) -> AsyncIterator[Installation]:
    """A cluster with DataStores, on a broker that may be hurt."""
    sim = Simulator(furnish(Store()))
    async with sim, installation(sim, private_node.url, layout, tmp_path) as made:
        yield made


async def test_killed_and_restarted_on_the_same_data(place: Installation, private_node: RabbitNode) -> None:
    """SIGKILL of RabbitMQ: what happens meanwhile waits, and is told after its restart."""
    async with place.replica() as replica:
        playing = Playing(place, replica)
        await playing.begin()
        playing.more(2)
        await private_node.settle()
        private_node.kill()
        playing.more(3)
        await playing.trouble("RabbitMQ")
        playing.more(2)
        await private_node.start()
        await playing.over()


async def test_cut_again_and_again(place: Installation) -> None:
    """Connections reset at any byte, small batches: each batch is told, and told in one way."""
    async with place.replica(batch_changes=1) as replica:
        playing = Playing(place, replica)
        await playing.begin()
        for count in (3_000, 9_000, 20_000):
            replica.proxy.cut_after(count)
            playing.more(3)
            await eventually(lambda: not replica.service.leads.is_set())
            await replica.leading()
        await playing.over()


async def test_cut_while_batches_wait(place: Installation) -> None:
    """A broker that fell silent, then the cut: what was judged and waits for room in the outbox is not lost."""
    async with place.replica(batch_changes=1) as replica:
        playing = Playing(place, replica)
        await playing.begin()
        replica.proxy.swallow()
        playing.more(2)
        await eventually(lambda: replica.service.pipeline.waiting == 2)
        replica.proxy.cut()
        replica.proxy.flow()
        await playing.over()


async def test_an_alarm(place: Installation, private_node: RabbitNode) -> None:
    """A memory alarm blocks publishers: readiness says so, and it ends with the alarm."""
    async with place.replica(confirm_timeout=0.5) as replica:
        playing = Playing(place, replica)
        await playing.begin()
        await private_node.ctl("set_vm_memory_high_watermark", "0.00001")
        try:
            playing.more(2)
            await playing.trouble("alarm")
        finally:
            await private_node.ctl("set_vm_memory_high_watermark", "0.6")
        await playing.over()


async def test_a_disk_alarm(place: Installation, private_node: RabbitNode) -> None:
    """Too little free disk blocks publishers likewise; nothing that came meanwhile is missing when there is room."""
    async with place.replica(confirm_timeout=0.5) as replica:
        playing = Playing(place, replica)
        await playing.begin()
        await private_node.ctl("set_disk_free_limit", f"{10**15}")
        try:
            playing.more(2)
            await playing.trouble("alarm")
        finally:
            await private_node.ctl("set_disk_free_limit", f"{10**6}")
        await playing.over()


async def test_a_queue_that_refuses(place: Installation) -> None:
    """Somebody's full queue makes RabbitMQ refuse events: the same are sent until it takes them."""
    full = f"{place.layout.prefix}.full"
    limit = {"x-max-length": 1, "x-overflow": "reject-publish"}
    theirs = Topology(queues=(Queue(full, limit),), bindings=(Binding(place.layout.events, full, "#"),))
    async with place.replica() as replica, connect(place.url, name="theirs") as broker:
        playing = Playing(place, replica)
        await playing.begin()
        await declare.apply(broker, theirs)
        playing.more(2)
        await playing.trouble("nack")
        await declare.delete(broker, theirs)
        await playing.over()


async def test_the_journal_is_deleted(place: Installation) -> None:
    """Memory lost under the leader: said loudly, in a new epoch and term; what comes then is told."""
    async with place.replica() as replica, connect(place.url, name="vandal") as broker:
        playing = Playing(place, replica)
        await playing.begin()
        await declare.delete(broker, Topology(queues=(Queue(place.layout.journal("eu-1")),)))
        await place.ears.told("a", "memory.lost")
        playing.more()
        await playing.whole()
        assert replica.problem() == ""
        assert {event.sequence[:6] for event in place.ears.of(playing.subjects[-1]) if event.sequence} == {"000002"}
        assert place.ears.names(playing.subjects[0]) == place.ears.names(playing.subjects[1])
        place.ears.check()


async def test_a_permission_is_lost(layout: Layout, private_node: RabbitNode, tmp_path: Path) -> None:
    """RabbitMQ refuses the publisher for a while: it says so, keeps trying, and goes on."""
    url = await private_node.add_vhost(layout.prefix)
    sim = Simulator(furnish(Store()))
    async with sim, installation(sim, url, layout, tmp_path) as place, place.replica() as replica:
        playing = Playing(place, replica)
        await playing.begin()
        await private_node.ctl("set_permissions", "-p", layout.prefix, "guest", ".*", "nothing", ".*")
        try:
            replica.proxy.cut()
            playing.more(2)
            await playing.trouble("refused")
        finally:
            await private_node.ctl("set_permissions", "-p", layout.prefix, "guest", ".*", ".*", ".*")
        await playing.over()


async def test_a_message_too_large(place: Installation, private_node: RabbitNode) -> None:
    """RabbitMQ's limit is below a batch: it says so, and goes on with the same bytes once the limit is raised."""
    limit = "application:{what}, persistent_term:{put}."
    async with place.replica() as replica:
        playing = Playing(place, replica)
        await playing.begin()
        await private_node.ctl(
            "eval", limit.format(what="set_env(rabbit, max_message_size, 900)", put="put(max_message_size, 900)")
        )
        try:
            replica.proxy.cut()
            playing.more(3)
            await playing.trouble("size")
        finally:
            most = 134_217_728
            await private_node.ctl(
                "eval",
                limit.format(what=f"set_env(rabbit, max_message_size, {most})", put=f"put(max_message_size, {most})"),
            )
        await playing.over()
