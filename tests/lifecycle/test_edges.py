"""Edges of the table of operations: what the last condition of each row is for."""

from typing import Any

import pytest

from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.policy import Policy
from tests.support.tcp import START, Store, Tcp, Watcher

_CA = "status/certificates/ca/checksum"
_ROLLOUT = "status/kubernetesResources/deployment/observedGeneration"
_ORPHAN = "orphan"


def _running(*, replicas: int = 2) -> tuple[Watcher, Tcp]:
    tcp = Tcp(replicas=replicas).running(replicas=replicas)
    return Watcher(tcp), tcp


def _memory(watcher: Watcher) -> TcpMemory:
    """What is remembered of the one object, gone or not."""
    (memory,) = (found for found in watcher.fleet.changed().values() if isinstance(found, TcpMemory))
    return memory


def test_a_version_alone_completes_no_creation() -> None:
    """It must serve too."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    assert watcher.see(tcp.status("Provisioning", version="v1.34.1", ready=0)) == []
    assert watcher.see(tcp.status("Ready", ready=2)) == ["create.completed", "state.ready"]


@pytest.mark.parametrize(
    ("before", "updated", "after", "told"),
    [(1, 2, 2, True), (1, 1, 2, False), (1, 2, 1, False), (None, 2, None, True), (None, 1, None, False)],
)
def test_rolled_out_means_every_replica_of_a_newer_template(
    before: int | None, updated: int, after: int | None, *, told: bool
) -> None:
    """A Deployment that tells no generation is judged by its replicas alone."""
    tcp = Tcp().running().set(_ROLLOUT, before)
    watcher = Watcher(tcp)
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.see(tcp.status("Ready", version="v1.35.0", ready=2, updated=updated, rollout=after))
    assert watcher.last.name == "upgrade.completed"
    assert watcher.last.details["rolledOut"] is told


def test_a_migration_asleep_completes_without_serving() -> None:
    """Nobody is to be served."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=0))
    watcher.see(tcp.status("Sleeping", ready=0))
    watcher.see(tcp.wants(store="other"))
    assert watcher.see(tcp.status("Sleeping", store="other")) == ["migrate.started", "migrate.completed"]


def test_a_rotation_completes_at_a_bare_later_version() -> None:
    """Nothing else need move: it served before and serves still."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set(_CA, "ca-2")) == ["rotation.started"]
    assert watcher.see(tcp.wants(replicas=3)) == ["rotation.completed", "scale.started"]
    assert watcher.see(tcp.set(_CA, "ca-3")) == ["rotation.started"]
    assert watcher.see(tcp.touch()) == ["rotation.completed"]


def test_an_authority_that_comes_back_is_no_second_rotation() -> None:
    """Its id would be one that was used; eight are remembered."""
    watcher, tcp = _running()
    said: list[str] = []
    for number in [2, 3, 4, 5, 6, 7, 8, 9, 2]:
        said += watcher.see(tcp.set(_CA, f"ca-{number}"), after=600)
        said += watcher.see(tcp.touch(), after=600)
    assert said == [*["rotation.started", "rotation.completed"] * 8, "certificates.rotated"]
    for number in [10, 2]:
        said += watcher.see(tcp.set(_CA, f"ca-{number}"), after=600)
        said += watcher.see(tcp.touch(), after=600)
    assert said[17:] == ["rotation.started", "rotation.completed"] * 2


def test_a_creation_that_ends_while_it_is_deleted_opens_no_sleep() -> None:
    """It would be cancelled at once."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.wants(replicas=0))
    said = watcher.see(tcp.status("Ready", version="v1.34.1", ready=2).delete())
    assert said == ["create.completed", "state.ready", "delete.started"]


@pytest.mark.parametrize(
    ("ready", "said"),
    [(3, ["scale.started", "scale.completed", "delete.started"]), (2, ["delete.started"])],
)
def test_a_number_wanted_with_the_deletion_opens_only_when_it_is_reached(ready: int, said: list[str]) -> None:
    """What has not reached its goal would be cancelled at once."""
    watcher, tcp = _running()
    assert watcher.see(tcp.wants(replicas=3).delete().status("Ready", ready=ready)) == said


def test_a_rotation_with_the_deletion_is_told_only_when_it_was_found_by_comparing() -> None:
    """Watched it could only be cancelled; found afterwards it is over."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set(_CA, "ca-2").delete()) == ["certificates.rotated", "delete.started"]
    watcher, tcp = _running()
    said = watcher.relist(tcp.set(_CA, "ca-2").delete())
    assert said == ["rotation.started", "rotation.completed", "delete.started"]


def test_what_nobody_saw_goes_from_what_was_to_what_is() -> None:
    """An upgrade and a migration that began and ended while nobody watched, and a number."""
    watcher, tcp = _running()
    tcp.wants(version="v1.35.0", store="other", replicas=3)
    watcher.relist(tcp.status("Ready", version="v1.35.0", store="other", ready=3))
    ends = [item.operation for item in watcher.said if item.name.endswith(".completed")]
    assert [(item.kind, item.source, item.target) for item in ends if item] == [
        ("upgrade", "v1.34.1", "v1.35.0"),
        ("migrate", "default", "other"),
        ("scale", 2, 3),
    ]


@pytest.mark.parametrize(
    ("replicas", "wishes", "opened"),
    [(2, [3, 2, 4], ["scale"]), (2, [0, 3, 0], ["sleep", "wake"]), (0, [2, 0, 3], ["wake", "sleep"])],
)
def test_a_generation_asks_for_a_number_once(replicas: int, wishes: list[int], opened: list[str]) -> None:
    """Its id would be one that was used."""
    watcher, tcp = _running(replicas=replicas)
    for wish in wishes:
        watcher.see(tcp.set("spec/controlPlane/deployment/replicas", wish))
    assert [item.name for item in watcher.said if item.name.endswith(".started")] == [
        f"{kind}.started" for kind in opened
    ]


@pytest.mark.parametrize(
    ("generations", "said"),
    [
        ([9, 10, 9, 11], [True, True, False, True]),
        ([None, None, 2, 3], [True, False, True, True]),
        ([2, 2, 1, 3], [True, False, False, True]),
    ],
)
def test_only_a_later_generation_asks_again(generations: list[int | None], said: list[bool]) -> None:
    """Compared as numbers; an object without one asks once."""
    tcp = Tcp().running().set("metadata/generation", None)
    watcher = Watcher(tcp)
    asked = []
    for number, generation in enumerate(generations):
        tcp.set("metadata/generation", generation).set("spec/kubernetes/version", f"v1.{40 + number}.0")
        asked.append("upgrade.requested" in watcher.see(tcp))
    assert asked == said


def test_recovered_needs_wanted_replicas() -> None:
    """Put to sleep while it is degraded, it has not recovered."""
    watcher, tcp = _running()
    assert watcher.see(tcp.status("Unknown", ready=1, exist=2)) == ["state.degraded"]
    assert watcher.see(tcp.wants(replicas=0)) == ["sleep.started"]
    assert watcher.see(tcp.wants(replicas=1)) == ["sleep.superseded", "wake.started", "state.recovered"]


def test_writes_are_limited_again() -> None:
    """After they were restored."""
    watcher, tcp = _running()
    for _ in range(2):
        watcher.see(tcp.edit("writePermissions/blockCreation", value=True))
        assert watcher.see(tcp.status("WriteLimited")) == ["writes.limited"]
        watcher.see(tcp.edit("writePermissions", {}))
        assert watcher.see(tcp.status("Ready")) == ["writes.restored"]


def test_an_edit_of_limits_is_an_edit_only_between_two_sets_that_were_told() -> None:
    """The first and the last are told as limits; the same ones are no edit."""
    watcher, tcp = _running()
    watcher.see(tcp.edit("writePermissions/blockCreation", value=True))
    assert watcher.see(tcp.edit("writePermissions/blockUpdate", value=True)) == []
    watcher.see(tcp.status("WriteLimited"))
    assert watcher.see(tcp.edit("writePermissions/blockOther", value=True)) == []
    tcp.edit("networkProfile/port", 7443)
    assert watcher.see(tcp.edit("writePermissions/blockDeletion", value=True)) == ["spec.changed"]
    assert watcher.last.details["verbs"] == ["create", "update", "delete"]


def test_limits_that_come_back_under_the_same_word_are_no_edit() -> None:
    """The word stood all the while: there are no two sets that were told."""
    watcher, tcp = _running()
    watcher.see(tcp.edit("writePermissions/blockCreation", value=True).status("WriteLimited"))
    assert watcher.see(tcp.edit("writePermissions", {})) == []
    assert watcher.see(tcp.edit("writePermissions/blockUpdate", value=True)) == []


@pytest.mark.parametrize(("path", "value"), [("spec/kubernetes/version", "v1.34.1"), ("spec/dataStore", "default")])
def test_what_is_filled_in_for_the_first_time_is_no_edit(path: str, value: str) -> None:
    """A default of the API server's."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp.set(path, None), "ADDED")
    assert watcher.see(tcp.set(path, value)) == []


def test_a_deletion_begins_when_the_object_says() -> None:
    """A malformed timestamp tells only that it was asked for; seen only gone, it begins then."""
    for told, at in (("2026-12-01T14:30:00Z", START + 1800), ("soon", START + 2), (None, START + 2)):
        watcher, tcp = _running()
        watcher.see(tcp.set("metadata/deletionTimestamp", told), "DELETED")
        started = watcher.find("delete.started")
        assert (started.seconds, started.operation and started.operation.started_at) == (at, at)


def test_a_deletion_of_the_baseline_began_when_the_object_says() -> None:
    """Or, malformed, when it was first seen."""
    for told, at in (("2026-12-01T14:30:00Z", START + 1800), ("soon", START + 1)):
        tcp = Tcp().running().set("metadata/deletionTimestamp", told)
        watcher = Watcher(tcp)
        assert watcher.see(tcp.touch(), "DELETED") == ["delete.started", "delete.finalized"]
        facts = watcher.last.operation
        assert facts is not None
        assert (facts.id, facts.started_at) == (f"{tcp.uid}.delete", at)


def test_an_object_that_vanishes_cancels_in_order_each_with_its_end() -> None:
    """The order of the table, not that in which they opened."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=3))
    watcher.see(tcp.wants(store="other"))
    watcher.see(tcp.wants(version="v1.35.0"))
    said = watcher.see(tcp.touch(), "DELETED")
    assert said == ["upgrade.cancelled", "migrate.cancelled", "scale.cancelled", "delete.started", "delete.finalized"]
    ended = [item.operation for item in watcher.said if item.name.endswith(".cancelled")]
    assert [item.ended_at for item in ended if item] == [watcher.now] * 3
    assert [item.kind for item in _memory(watcher).operations] == ["delete"]
    assert watcher.last.operation is not None
    assert watcher.last.operation.id == f"{tcp.uid}.delete"


def test_what_the_baseline_found_open_is_told_before_it_is_cancelled() -> None:
    """Its steps were silent until then."""
    tcp = Tcp().running().wants(version="v1.35.0").status("Upgrading")
    watcher = Watcher(tcp)
    assert watcher.see(tcp.touch(), "DELETED")[:3] == ["upgrade.requested", "upgrade.started", "upgrade.cancelled"]


@pytest.mark.parametrize(
    "trouble",
    [
        {"status/kubernetesResources/version/status": "NotReady", "status/kubernetesResources/deployment": {}},
        {"metadata/annotations": {"kamaji.clastix.io/soot": "failed"}},
    ],
)
@pytest.mark.parametrize("kind", ["MODIFIED", "DELETED"])
def test_a_deletion_stops_every_clock(trouble: dict[str, Any], kind: str) -> None:
    """An outage or a failed bootstrap of what is going away is nothing to page on."""
    watcher, tcp = _running()
    for path, value in trouble.items():
        tcp.set(path, value)
    watcher.see(tcp)
    watcher.see(tcp if kind == "DELETED" else tcp.delete(), kind)
    memory = _memory(watcher)
    assert (memory.loop, memory.degraded) == (None, False)
    assert (memory.down_since, memory.outage_since, memory.bootstrap_failed_at) == (0.0, 0.0, 0.0)
    assert {name for name in watcher.wait(299) if not name.startswith("delete.")} == set()


def test_a_deletion_forgets_loops_and_missing_replicas() -> None:
    """Its memory holds nothing that could be told later."""
    watcher, tcp = _running()
    for number in range(2, 10):
        watcher.see(tcp.status("Unknown", ready=1, exist=2, rollout=number))
    memory = _memory(watcher)
    assert (memory.loop is None, memory.degraded) == (False, True)
    watcher.see(tcp.delete())
    assert (memory.loop is None, memory.degraded) == (True, False)


@pytest.mark.parametrize("when", ["before", "meanwhile", "at the end"])
def test_dependents_left_behind_on_purpose_are_noticed_at_any_time(when: str) -> None:
    """The order is a finalizer, which is gone when it has been done."""
    watcher, tcp = Watcher(Store()), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.delete(finalizers=[_ORPHAN] if when == "before" else ["other"]))
    if when == "meanwhile":
        watcher.see(tcp.set("metadata/finalizers", [_ORPHAN]))
        watcher.see(tcp.set("metadata/finalizers", ["other"]))
    tcp.set("metadata/finalizers", [_ORPHAN] if when == "at the end" else [])
    watcher.see(tcp, "DELETED")
    memory = _memory(watcher)
    assert memory.orphaned


def test_an_object_of_the_baseline_says_why_it_is_told() -> None:
    """It was there before."""
    watcher = Watcher(Tcp().running(), policy=Policy(announce_existing=True))
    assert watcher.last.reason is not None
    assert watcher.last.reason[0] == "Existing"


def test_a_creation_in_the_baseline_keeps_its_id() -> None:
    """As if it had been seen from its beginning; without a creationTimestamp it began when it was seen."""
    tcp = Tcp()
    watcher = Watcher(tcp.set("metadata/creationTimestamp", None))
    watcher.see(tcp.status("Ready", version="v1.34.1", ready=2))
    facts = watcher.find("create.completed").operation
    assert facts is not None
    assert (facts.id, facts.started_at) == (f"{tcp.uid}.create", START + 1)


def test_an_object_first_seen_with_a_version_was_ready_once() -> None:
    """Kamaji writes it only then, whatever the status is now."""
    watcher, tcp = Watcher(), Tcp().running().status("NotReady", ready=0)
    assert watcher.see(tcp, "ADDED")[:4] == ["create.started", "create.completed", "state.ready", "state.notready"]


def test_an_outage_says_for_how_long() -> None:
    """In whole seconds."""
    watcher, tcp = _running()
    watcher.see(tcp.status("NotReady", ready=0))
    watcher.wait(60)
    assert watcher.last.reason == ("Unavailable", "Not ready for 60 s: status NotReady.")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec/kubernetes/version", "v1.34.1"),
        ("spec/dataStore", "default"),
        ("spec/controlPlane/deployment/replicas", 2),
    ],
)
def test_a_field_that_appears_with_the_value_it_had_is_no_edit(path: str, value: Any) -> None:
    """Not during a creation either, when wishes are told as edits."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.set(path, None))
    watcher.said.clear()
    assert watcher.see(tcp.set(path, value)) == []


def test_an_object_without_finalizers_vanishes_with_its_orphans() -> None:
    """The DELETED line is the only one that shows the order."""
    watcher, tcp = _running()
    watcher.see(tcp.set("metadata/finalizers", [_ORPHAN]), "DELETED")
    assert _memory(watcher).orphaned
