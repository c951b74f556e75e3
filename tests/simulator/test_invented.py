"""The invented fleet: realistic, repeatable, complete."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import orjson
import pytest

from kamaji_events.event import Event
from kamaji_events.recording import RecordedLine, read_recording
from kamaji_events.simulator import InventedFleet, Store
from kamaji_events.simulator.history import Past
from kamaji_events.simulator.kinds import KINDS
from kamaji_events.simulator.tenant import Tenant
from publisher.derive import derive
from tests.support.recordings import RECORDINGS

TCPS = "tenantcontrolplanes"
START = 1_800_000_000.0
EMPTY = msgspec.Raw(b'{"metadata":{"resourceVersion":"1"},"items":[]}')
HEADER = {
    "format": "kamaji-recording/1",
    "kubernetes": "v1.36",
    "kamaji": "invented",
    "startedAt": "2026-12-01T00:00:00Z",
}


class Recorded:
    """A fleet whose writes are recorded in its own time."""

    def __init__(self, make: Callable[[Store], InventedFleet]) -> None:
        self.lines = [RecordedLine(0.0, "_header", "HEADER", msgspec.Raw(orjson.dumps(HEADER)))]
        self.lines += [RecordedLine(0.0, kind.plural, "LIST", EMPTY) for kind in KINDS]
        self.fleet: InventedFleet | None = None
        self.store = Store(on_change=self._wrote, clock=lambda: START)
        self.fleet = make(self.store)

    def _wrote(self, past: Past) -> None:
        at = round(self.fleet.now, 3) if self.fleet else 0.0
        self.lines.append(RecordedLine(at, past.version.kind.plural, past.kind, msgspec.Raw(past.version.raw)))

    def play(self) -> "Recorded":
        """Let everything happen."""
        while self.fleet and self.fleet.step():
            pass
        return self

    def told(self) -> dict[str, list[Event]]:
        """What is derived of it, by uid."""
        by_object: dict[str, list[Event]] = defaultdict(list)
        for message in derive(self.lines):
            event = Event.from_bytes(message.body)
            if event.kind == "tenantcontrolplane":
                by_object[str(event.partitionkey)].append(event)
        return by_object


def busy(seed: int, **more: Any) -> Callable[[Store], InventedFleet]:
    """A fleet to which much happens."""

    def make(store: Store) -> InventedFleet:
        fleet = InventedFleet(store, seed=seed, impatience=0.3)
        fleet.add(4, **{"operations": 6, **more})
        fleet.upset_stores(2)
        return fleet

    return make


def test_a_seed_is_a_story() -> None:
    """The same seed makes the same writes, byte for byte; another seed makes others."""
    first, second, other = (Recorded(busy(seed)).play() for seed in (1, 1, 2))

    assert first.lines == second.lines
    assert first.lines != other.lines


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_left_over(seed: int) -> None:
    """When every control plane is deleted, all that they owned is gone and no DataStore names them."""
    store = Recorded(busy(seed, lives=2)).play().store

    for plural in (TCPS, "services", "configmaps", "secrets", "deployments", "jobs"):
        assert not store.state(plural)
    assert all("usedBy" not in content["status"] for content in store.objects("datastores"))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_derived_holds_together(seed: int) -> None:
    """Each life begins and ends, operations start at most once and end, readiness alternates."""
    for events in Recorded(busy(seed)).play().told().values():
        said = [event.name for event in events]
        assert said[0] == "create.started"
        assert {"create.completed", "state.ready", "bootstrap.completed"} <= set(said)
        assert said[-1] == "delete.completed"
        ready = [name for name in said if name in {"state.ready", "state.notready"}]
        assert ready == [("state.ready", "state.notready")[number % 2] for number in range(len(ready))]
        _operations_end(events)


def _operations_end(events: list[Event]) -> None:
    operations: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event.operationid:
            operations[event.operationid].append(event.name.split(".")[1])
    ends = {"completed", "superseded", "cancelled"}
    for words in operations.values():
        assert len(set(words)) == len(words)
        assert len(ends & set(words)) == 1


def _first_seen(contents: list[dict[str, Any]]) -> list[str]:
    """The blocks of status in the order in which they come."""
    seen: dict[str, None] = {}
    for content in contents:
        status = content.get("status", {})
        for block in ("kubeadmconfig", "storage", "certificates", "kubeconfig", "controlPlaneEndpoint"):
            inside = status.get(block)
            names = [f"{block}.{name}" for name, value in inside.items() if value] if isinstance(inside, dict) else []
            seen |= dict.fromkeys(names or ([block] if inside else []))
        if status.get("observedGeneration"):
            seen.setdefault("observedGeneration")
    return list(seen)


def test_a_creation_writes_in_the_operators_order() -> None:
    """The blocks of an invented status come in the order in which the real operator wrote them."""
    recording = [
        msgspec.json.decode(line.object)
        for line in read_recording(RECORDINGS / "lifecycle.jsonl.gz")
        if line.resource == TCPS and line.type in {"ADDED", "MODIFIED"}
    ]
    written: list[Past] = []
    InventedFleet(Store(on_change=written.append)).add_existing(1)
    real = _first_seen(recording)
    invented = _first_seen([past.version.content() for past in written if past.version.kind.plural == TCPS])

    assert [name for name in invented if name in real] == [name for name in real if name in invented]
    assert len(invented) >= 15


def test_fleets_that_exist() -> None:
    """Existing control planes are ready at once."""
    store = Store()
    added = InventedFleet(store, namespaces=("a", "b")).add_existing(4)
    words = [content["status"]["kubernetesResources"]["version"] for content in store.objects(TCPS)]

    assert [tenant.subject for tenant in added] == ["a/tcp-0000", "b/tcp-0001", "a/tcp-0002", "b/tcp-0003"]
    assert {word["status"] for word in words} == {"Ready"}
    assert all(word["version"] for word in words)


def test_things_that_a_test_wants() -> None:
    """What happens to one control plane can be asked for."""
    recorded = Recorded(InventedFleet)
    fleet = recorded.fleet
    assert fleet
    (tenant,) = fleet.add_existing(1)
    fleet.let(tenant.rotate_ca())
    fleet.let(tenant.lose_pods(9), after=60)
    fleet.let(tenant.delete(), after=120)
    (events,) = recorded.play().told().values()
    said = [event.name for event in events]

    assert [name for name in said if name.startswith("rotation")] == ["rotation.started", "rotation.completed"]
    assert said.count("state.notready") == 1
    assert said[-1] == "delete.completed"


def test_somebody_else_deletes_what_it_works_on() -> None:
    """A control plane that disappears under the operator's hands ends its story, not the fleet's."""
    store = Store()
    fleet = InventedFleet(store, seed=1)
    fleet.add(2, operations=None)
    while not store.state(TCPS):
        fleet.step()
    (first,) = store.state(TCPS).values()
    store.remove(first)
    for _ in range(500):
        assert fleet.step()

    assert first.key not in store.state(TCPS)
    assert store.state(TCPS)


@pytest.mark.looptime
async def test_pace() -> None:
    """At pace 4 the fleet's time passes four times as fast as the clock; a time can be set at which it stops."""
    fleet = InventedFleet(Store(), seed=1)
    fleet.add(3, operations=None)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await fleet.run(4.0, until=100.0)

    assert loop.time() - begun == pytest.approx(25.0, abs=0.01)
    assert fleet.now == 100
    assert fleet.next_at is not None
    assert fleet.next_at > 100


def test_an_interrupted_operator_goes_on() -> None:
    """Whatever was half done, the next reconcile brings the status to where the spec wants it."""
    for stop in range(12):
        store, rng = Store(), random.Random(stop)  # noqa: S311 - repeatable
        tenant = Tenant(store, rng, "tenants", "acme")
        for _ in tenant.create(version="v1.34.1", replicas=2, store="default", labels={}):
            pass
        interrupted = tenant.edit(lambda content: content["spec"]["kubernetes"].update(version="v1.35.0"))
        for _ in range(stop):
            next(interrupted, None)
        for _ in tenant.edit(lambda content: content["spec"]["controlPlane"]["deployment"].update(replicas=3)):
            pass
        content = tenant.content
        resources = content["status"]["kubernetesResources"]

        assert resources["version"] == {"status": "Ready", "version": content["spec"]["kubernetes"]["version"]}
        assert (resources["deployment"]["replicas"], resources["deployment"]["readyReplicas"]) == (3, 3)
        assert content["status"]["observedGeneration"] == content["metadata"]["generation"]
