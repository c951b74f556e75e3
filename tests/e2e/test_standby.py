"""Leader and standby: processes that are really killed, nodes that vanish, and only one voice at a time."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kamaji_events.broker.topology import Layout
from kamaji_events.simulator import Simulator, Store
from tests.support.command import ROOT, environment
from tests.support.installation import CLUSTER, Installation, eventually, installation
from tests.support.inventing import Invented, furnish

pytestmark = [pytest.mark.broker, pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.fixture
async def place(rabbit: str, layout: Layout, tmp_path: Path) -> AsyncIterator[Installation]:
    """A cluster with DataStores, on the shared broker."""
    async with Simulator(furnish(Store())) as sim, installation(sim, rabbit, layout, tmp_path) as made:
        yield made


@asynccontextmanager
async def process(place: Installation, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """``kamaji-events publisher run`` as a process of its own, killed at the end."""
    env = {
        "AMQP_URL": place.url,
        "KUBECONFIG": str(place.sim.kubeconfig(place.folder / f"kubeconfig-{name}")),
        "KAMAJI_EVENTS_PREFIX": place.layout.prefix,
        "KAMAJI_EVENTS_HEALTH_HOST": "127.0.0.1",
    }
    words = ("publisher", "run", "--cluster", CLUSTER, "--instance", name, "--health-port", "0")
    with (place.folder / f"{name}.log").open("wb") as log:
        started = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kamaji_events", *words, env=environment(env), cwd=ROOT, stdout=log, stderr=log
        )
        try:
            yield started
        finally:
            if started.returncode is None:
                started.kill()
            await started.wait()


async def test_a_leader_that_is_killed_is_followed(place: Installation) -> None:
    """SIGKILL of the leading process in the middle of upgrades: the standby tells the rest, each thing once."""
    ears, store = place.ears, place.sim.store
    lives = [Invented(store, f"tcp-{number:02}") for number in range(30)]
    async with process(place, "first") as first:
        await ears.synced("first")
        for life in lives:
            life.create()
        async with process(place, "second"):
            for life in lives:
                await ears.told(life.subject, "addons.changed", 2)
            for life in lives[:15]:
                life.upgrade("v1.35.0")
            await ears.told(lives[0].subject, "upgrade.started")
            first.kill()
            for life in lives[15:]:
                life.upgrade("v1.35.0")
            await first.wait()
            for life in lives:
                await ears.told(life.subject, "upgrade.completed")
    assert len({tuple(ears.names(life.subject)) for life in lives}) == 1
    assert ears.names("second") == ["state.leading", "state.alive"]
    assert {event.term for event in ears.of("first")} == {1}
    assert {event.term for event in ears.of("second")} == {2}
    ears.check()


async def test_a_standby_waits_in_good_health(place: Installation) -> None:
    """It is ready and live, says nothing, and leads as soon as the leader leaves in good order."""
    ears = place.ears
    async with place.replica("a") as leader:
        await ears.synced("a")
        async with place.replica("b") as standby:
            await eventually(lambda: standby.problem() == "", standby.problem)
            assert standby.service.condition.live() is None
            assert not standby.service.leads.is_set()
            Invented(place.sim.store, "one").create()
            await ears.told("tenants/one", "addons.changed", 2)
            await leader.stop()
            await standby.leading()
            Invented(place.sim.store, "two").create()
            await ears.told("tenants/two", "addons.changed", 2)
    assert ears.names("tenants/two") == ears.names("tenants/one")
    assert {event.term for event in ears.of("tenants/two")} == {2}
    ears.check()


async def test_a_leader_whose_node_vanishes(place: Installation) -> None:
    """No FIN, no reset: after the broker's heartbeat the standby leads; the old leader's voice is gone."""
    ears = place.ears
    async with place.replica("a", heartbeat=1) as leader:
        await leader.leading()
        await ears.synced("a")
        async with place.replica("b", heartbeat=1) as standby:
            leader.proxy.swallow()
            lives = [Invented(place.sim.store, f"tcp-{number}") for number in range(5)]
            for life in lives:
                life.create()
            await standby.leading()
            for life in lives:
                await ears.told(life.subject, "addons.changed", 2)
            leader.proxy.flow()
            await eventually(lambda: not leader.service.leads.is_set())
            await eventually(lambda: leader.problem() == "", leader.problem)
    assert {event.term for life in lives for event in ears.of(life.subject)} == {2}
    ears.check()
