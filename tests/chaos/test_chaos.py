"""Storms over a living fleet, by seeds, and an oracle that knows what must have been told."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path

import pytest

from kamaji_events.broker.node import RabbitNode
from kamaji_events.event import Event
from tests.chaos.storm import Blow, Storm, storm
from tests.support.consumers import forget_house, new_house
from tests.support.installation import eventually
from tests.support.recordings import CLOCK_DECIDED

pytestmark = [pytest.mark.broker, pytest.mark.e2e, pytest.mark.timeout(300)]

EVERYWHERE: tuple[Blow, ...] = (
    "leader_killed", "leader_killed", "standby_killed", "leader_cut", "leader_cut", "watches_cut", "garbled",
    "overloaded", "worker_killed", "worker_killed", "receiver_killed", "receiver_refuses",
)  # fmt: skip
"""Blows after which exactly the events of the uncut run must have been told."""
FEW, MANY = 100, 250
"""Control planes of a storm in every check, and of a nightly one."""
Told = tuple[str | None, str | None, str | None]


def seeds(*daily: int, nightly: Iterable[int]) -> list[object]:
    """Seeds with how many control planes they get."""
    late = [pytest.param(seed, MANY, marks=pytest.mark.nightly, id=f"seed{seed}") for seed in nightly]
    return [*(pytest.param(seed, FEW, id=f"seed{seed}") for seed in daily), *late]


def drawn(seed: int, control_planes: int, *more: Blow, times: int = 9) -> dict[int, Blow]:
    """Which blow falls at which write; RabbitMQ is killed once in every storm."""
    rng = random.Random(f"blows {seed}")  # noqa: S311 - a storm to be repeated
    blows = [*rng.choices(EVERYWHERE, k=times), "broker_killed", *more]
    rng.shuffle(blows)
    last = 60 * control_planes
    return dict(zip(sorted(rng.sample(range(last // 20, last), len(blows))), blows, strict=True))


def comparable(events: Iterable[Event]) -> dict[str, Told]:
    """What must be equal, by id."""
    return {
        event.id: (event.subject, event.sequence, event.operationid)
        for event in events
        if event.kind in {"tenantcontrolplane", "datastore"}
    }


async def settled(raging: Storm, expected: AbstractSet[str]) -> None:
    """Everything expected has reached the exchange, and the receiver holds all that the exchange got."""
    ears, hook = raging.place.ears, raging.hook
    await ears.until(lambda: ears.first.keys() >= expected, 60.0)
    await eventually(raging.at_rest)
    wanted = comparable(ears.first.values()).keys()
    async with asyncio.timeout(60):
        while not hook.held().keys() >= wanted:
            hook.receiver.arrived.clear()
            await hook.receiver.arrived.wait()


@pytest.fixture
async def sea(private_node: RabbitNode, tmp_path: Path, seed: int, control_planes: int) -> AsyncIterator[Storm]:
    """A fleet, publishers, workers and a receiver, on a broker that will be killed."""
    house = new_house()
    async with storm(private_node, house, tmp_path, seed, control_planes=control_planes) as made:
        yield made
    await forget_house(private_node.url, house)


@pytest.mark.parametrize(("seed", "control_planes"), seeds(0, 1, nightly=range(5, 25)))
async def test_with_the_history_kept(sea: Storm, seed: int, control_planes: int) -> None:
    """Whatever is killed: exactly the events of the uncut run, each id one meaning, and the receiver holds them all."""
    await sea.rage(drawn(seed, control_planes))
    expected = comparable(sea.chronicle.expected().values())
    await settled(sea, expected.keys())
    assert comparable(sea.place.ears.first.values()) == expected, sea.log
    assert comparable(sea.hook.held().values()) == expected, sea.log
    sea.place.ears.check()


@pytest.mark.parametrize(("seed", "control_planes"), seeds(2, 3, nightly=range(25, 40)))
async def test_with_the_history_forgotten(sea: Storm, seed: int, control_planes: int) -> None:
    """410 at every absence: exactly what comparing the states at the cuts gives, and nothing that was told before."""
    await sea.rage(drawn(seed, control_planes, "forgotten", "forgotten", times=6))
    expected = comparable(sea.chronicle.expected().values())
    assert len(sea.chronicle.cuts) == 2
    await settled(sea, expected.keys())
    assert comparable(sea.place.ears.first.values()) == expected, sea.log
    assert comparable(sea.hook.held().values()) == expected, sea.log
    sea.place.ears.check()


@pytest.mark.parametrize(("seed", "control_planes"), seeds(4, nightly=range(40, 50)))
async def test_forgetting_at_any_moment(sea: Storm, seed: int, control_planes: int) -> None:
    """410 in the middle of everything: what is told is consistent, and ends where the uncut run ends."""
    await sea.rage(drawn(seed, control_planes, *["too_old"] * 4, times=6))
    uncut = sea.chronicle.expected()
    ends = {event.partitionkey: event for event in uncut.values() if event.name == "delete.completed"}
    await settled(sea, {f"{uid}.delete.completed" for uid in ends if uid in told_of(sea)})
    sea.place.ears.check()
    told = sea.place.ears.tenants()
    alternating(told)
    living = {event.partitionkey for event in uncut.values() if event.kind == "tenantcontrolplane"} - ends.keys()
    assert living <= told_of(sea), sea.log
    ready, uncut_ready = readiness(told), readiness(uncut.values())
    assert {uid: ready.get(uid) for uid in living} == {uid: uncut_ready.get(uid) for uid in living}, sea.log


def told_of(sea: Storm) -> set[str | None]:
    """Objects that anything was told of."""
    return {event.partitionkey for event in sea.place.ears.tenants()}


def readiness(events: Iterable[Event]) -> dict[str | None, str]:
    """What was said of each object's readiness last."""
    return {event.partitionkey: event.name for event in events if event.name in {"state.ready", "state.notready"}}


def alternating(events: Iterable[Event]) -> None:
    """Ready and not ready take turns, from the first ready on."""
    words: dict[str | None, list[str]] = {}
    for event in events:
        assert event.name not in CLOCK_DECIDED
        if event.name in {"state.ready", "state.notready"}:
            words.setdefault(event.partitionkey, []).append(event.name)
    assert all(before != after for told in words.values() for before, after in pairwise(told))
    assert all(told[0] == "state.ready" for told in words.values())
