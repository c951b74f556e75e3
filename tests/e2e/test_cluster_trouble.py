"""The API server in every kind of trouble under a publisher at work, through a real broker."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from kamaji_events.broker.topology import Layout
from kamaji_events.errors import ClusterRefused
from kamaji_events.groups import first_of
from kamaji_events.simulator import Simulator, Store
from publisher.watch.policy import WatchPolicy
from tests.support.installation import Installation, Replica, eventually, installation
from tests.support.inventing import Invented, furnish

pytestmark = [pytest.mark.broker, pytest.mark.e2e]

TCPS = "tenantcontrolplanes"
WHOLE = ["addons.changed", "addons.changed"]


@pytest.fixture
async def place(rabbit: str, layout: Layout, tmp_path: Path) -> AsyncIterator[Installation]:
    """A cluster with DataStores whose watches get frequent bookmarks, on the shared broker."""
    sim = Simulator(furnish(Store()), bookmark_seconds=0.2)
    async with sim, installation(sim, rabbit, layout, tmp_path) as made:
        yield made


def lived(place: Installation, name: str) -> Invented:
    """A control plane that was created."""
    life = Invented(place.sim.store, name)
    life.create()
    return life


async def whole(place: Installation, life: Invented) -> list[str]:
    """Wait until its creation was told to the end; gives its events."""
    await place.ears.told(life.subject, WHOLE[0], len(WHOLE))
    return place.ears.names(life.subject)


def listed(replica: Replica, times: int) -> bool:
    """Whether it completed so many lists."""
    return replica.syncs() >= times


async def begun(place: Installation, replica: Replica) -> Invented:
    """It leads, has listed, and told of one creation."""
    await replica.leading()
    await place.ears.synced("a")
    life = lived(place, "before")
    await whole(place, life)
    return life


async def test_too_old_again_and_again(place: Installation) -> None:
    """410 in open watches and at each of the next tries: lists and compares, and says nothing twice."""
    async with place.replica() as replica:
        before = await begun(place, replica)
        told = place.ears.names(before.subject)
        for _ in range(2):
            place.sim.faults.expire(times=3)
            place.sim.faults.expire(times=2, as_line=False)
            enough = partial(listed, replica, replica.syncs() + 2)
            await place.sim.faults.expire_open()
            await eventually(enough)
        after = lived(place, "after")
        assert await whole(place, after) == told
        assert place.ears.names(before.subject) == told
        assert replica.problem() == ""
    place.ears.check()


@pytest.mark.parametrize(("status", "body"), [(429, False), (429, True), (500, True), (503, False)])
async def test_overload(place: Installation, status: int, body: bool) -> None:  # noqa: FBT001 - a parameter
    """Lists and watches are refused for a while, also without a body: it waits, says so and goes on."""
    async with place.replica() as replica:
        before = await begun(place, replica)
        for verb in ("list", "watch"):
            place.sim.faults.refuse(status, verb=verb, body=body, times=6)
        await place.sim.faults.cut()
        after = lived(place, "after")
        await eventually(lambda: str(status) in replica.problem(), replica.problem)
        assert await whole(place, after) == place.ears.names(before.subject)
        await eventually(lambda: replica.problem() == "", replica.problem)
    place.ears.check()


async def test_forbidden(place: Installation) -> None:
    """A right is taken away: readiness names the missing rule; given back, everything is told."""
    async with place.replica() as replica:
        before = await begun(place, replica)
        place.sim.faults.forbid("watch", TCPS)
        await place.sim.faults.cut()
        after = lived(place, "after")
        await eventually(lambda: "watch" in replica.problem() and TCPS in replica.problem(), replica.problem)
        place.sim.faults.allow("watch", TCPS)
        assert await whole(place, after) == place.ears.names(before.subject)
    place.ears.check()


async def test_the_definition_comes_late(place: Installation) -> None:
    """A CRD that is not installed is waited for, loudly; what is created after it is told."""
    await place.sim.faults.remove_crd(TCPS)
    async with place.replica() as replica:
        await replica.leading()
        await eventually(lambda: "CRD" in replica.problem(), replica.problem)
        place.sim.faults.install_crd(TCPS)
        await place.ears.synced("a")
        names = await whole(place, lived(place, "late"))
        assert names[:2] == ["create.started", "endpoint.assigned"]
        assert replica.problem() == ""
    place.ears.check()


async def test_half_open(place: Installation) -> None:
    """No byte and no bookmark any more: the dead watch is noticed, left, and nothing is lost."""
    policy = WatchPolicy(backoff_base=0.05, backoff_most=0.2, silence=1.0, stable=0.2)
    async with place.replica(policy=policy) as replica:
        before = await begun(place, replica)
        reflectors = replica.service._watches.reflectors.values()
        await eventually(lambda: all(each.stats.bookmarks for each in reflectors))
        place.sim.faults.freeze()
        after = lived(place, "after")
        await eventually(lambda: replica.problem() != "", replica.problem)
        place.sim.faults.thaw()
        assert await whole(place, after) == place.ears.names(before.subject)
        await eventually(lambda: replica.problem() == "", replica.problem)
    place.ears.check()


async def test_a_lost_delete(place: Installation) -> None:
    """The watch cache lost a deletion: the slow compare finds it, and says of the others nothing."""
    policy = WatchPolicy(backoff_base=0.05, backoff_most=0.2, compare_interval=1.0, watch_seconds=1.0)
    async with place.replica(policy=policy) as replica:
        before = await begun(place, replica)
        gone = lived(place, "gone")
        told = await whole(place, gone)
        place.sim.faults.lose_deletes(TCPS)
        gone.delete()
        await place.ears.told(gone.subject, "delete.completed")
        assert place.ears.names(gone.subject)[len(told) :] == ["delete.started", "delete.finalized", "delete.completed"]
        assert place.ears.of(gone.subject)[-2].data["reconstructed"]
        assert place.ears.names(before.subject) == told
    place.ears.check()


@pytest.mark.parametrize("away", [False, True])
async def test_restored_from_a_backup(place: Installation, away: bool) -> None:  # noqa: FBT001 - a parameter
    """Versions go back, under the publisher or while it is away: a new epoch, loudly, then what a compare shows."""
    async with place.replica() as replica:
        before = await begun(place, replica)
        place.sim.faults.snapshot()
        lost = lived(place, "lost")
        told = await whole(place, lost)
        if away:
            await replica.kill()
        await place.sim.faults.restore()
        async with place.replica("b"):
            await place.ears.told(lost.subject, "delete.completed")
            before.upgrade("v1.35.0")
            await place.ears.told(before.subject, "upgrade.completed")
    names = place.ears.names("a") + place.ears.names("b")
    assert names.count("memory.lost") == 1
    upgraded = place.ears.of(before.subject)[len(told) :]
    assert [event.name for event in upgraded] == ["upgrade.requested", "upgrade.started", "upgrade.completed"]
    assert [event.sequence for event in upgraded] == [f"000002-{number:014d}" for number in (1, 2, 3)]
    assert place.ears.names(lost.subject)[len(told) :] == ["delete.started", "delete.finalized", "delete.completed"]
    place.ears.check()


async def test_another_cluster_under_a_remembered_name(place: Installation) -> None:
    """The kubeconfig leads elsewhere at the next start: a clear stop, and nobody is told to be deleted."""
    async with place.replica() as replica:
        before = await begun(place, replica)
        told = place.ears.names(before.subject)
        await replica.kill()
    async with Simulator(furnish(Store(seed=7))) as other, place.replica("b", sim=other) as second:
        error = await second.ended()
    assert error is not None
    assert "another cluster" in str(first_of(error, ClusterRefused))
    assert place.ears.names(before.subject) == told


async def test_another_cluster_takes_the_address(place: Installation) -> None:
    """The same under a running publisher: the first list of the stranger is not believed."""
    async with place.replica() as replica:
        before = await begun(place, replica)
        told = place.ears.names(before.subject)
        port = int(place.sim.url.rpartition(":")[2])
        await place.sim.go_down()
        async with Simulator(furnish(Store(seed=7)), port=port):
            error = await replica.ended()
        assert error is not None
        assert "another cluster" in str(first_of(error, ClusterRefused))
        assert place.ears.names(before.subject) == told
        await place.sim.come_up()


async def test_restarted(place: Installation) -> None:
    """The API server goes down and comes back: the watches resume, without a list."""
    async with place.replica() as replica:
        before = await begun(place, replica)
        syncs = replica.syncs()
        await place.sim.go_down()
        after = lived(place, "after")
        await eventually(lambda: replica.problem() != "", replica.problem)
        await place.sim.come_up()
        assert await whole(place, after) == place.ears.names(before.subject)
        assert replica.syncs() == syncs
    place.ears.check()


async def test_more_changes_than_can_wait(place: Installation) -> None:
    """The broker is away and the buffer full: the watches are read anew from what was judged, and all is told."""
    async with place.replica(buffer_bytes=1024 * 1024) as replica:
        before = await begun(place, replica)
        replica.proxy.swallow()
        lives: list[Invented] = []
        while not replica.service._buffer.overflowed.is_set():
            lives.append(lived(place, f"many-{len(lives)}"))
            await asyncio.sleep(0)
        replica.proxy.cut()
        replica.proxy.flow()
        for life in lives:
            assert await whole(place, life) == place.ears.names(before.subject)
    place.ears.check()
