"""Each row of the contract's table of operations, and what real operators do to them."""

import pytest

from tests.support.tcp import Tcp, Watcher


def _running(*, replicas: int = 2, old: bool = False) -> tuple[Watcher, Tcp]:
    tcp = Tcp(replicas=replicas, old=old).running(replicas=replicas)
    return Watcher(tcp), tcp


def test_a_creation_starts_at_first_sight_and_completes_when_it_serves() -> None:
    """Provisioning, NotReady and a version alone complete nothing."""
    watcher, tcp = Watcher(), Tcp()
    assert watcher.see(tcp, "ADDED") == ["create.started"]
    assert watcher.see(tcp.status("Provisioning", ready=0)) == []
    assert watcher.see(tcp.status("NotReady", ready=0)) == []
    assert watcher.see(tcp.status("Provisioning", ready=1, exist=2)) == []
    assert watcher.see(tcp.status("Ready", version="v1.34.1", ready=2)) == ["create.completed", "state.ready"]
    assert [decision.id for decision in watcher.said] == [
        f"{tcp.uid}.create.started",
        f"{tcp.uid}.create.completed",
        f"{tcp.uid}.{tcp.version}.state.ready",
    ]


def test_a_creation_asleep_completes_without_ever_being_ready() -> None:
    """No replica is wanted, none exists, the version is known: it is built, and no sleep opens."""
    watcher, tcp = Watcher(), Tcp(replicas=0)
    watcher.see(tcp, "ADDED")
    assert watcher.see(tcp.status("Sleeping", ready=0)) == []
    assert watcher.see(tcp.status("Sleeping", version="v1.34.1", ready=0)) == ["create.completed"]
    assert watcher.see(tcp.wants(replicas=2)) == ["wake.started"]
    assert watcher.see(tcp.status("NotReady", ready=0)) == []
    assert watcher.see(tcp.status("Ready", ready=2)) == ["wake.completed", "state.ready"]


def test_no_other_operation_opens_during_a_creation() -> None:
    """Edits are told as edits; when it is built, version and store that differ are requested."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.status("Provisioning", ready=0, store="default"))
    assert watcher.see(tcp.wants(version="v1.35.0")) == ["spec.changed"]
    assert watcher.last.details["paths"] == ["kubernetes.version"]
    assert watcher.see(tcp.wants(store="other")) == ["spec.changed"]
    assert watcher.see(tcp.wants(replicas=3)) == ["spec.changed"]
    said = watcher.see(tcp.status("Ready", version="v1.34.1", ready=2, exist=3))
    assert said == ["create.completed", "upgrade.requested", "migrate.requested", "state.ready", "state.degraded"]
    assert watcher.find("upgrade.requested").id == f"{tcp.uid}.upgrade.4.requested"


def test_a_wanted_zero_that_is_not_asleep_opens_sleep_when_the_creation_completes() -> None:
    """Put to sleep during its creation, it falls asleep after it is built."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.status("Provisioning", ready=1, exist=2))
    assert watcher.see(tcp.wants(replicas=0)) == ["spec.changed"]
    said = watcher.see(tcp.status("Ready", version="v1.34.1", ready=2))
    assert said == ["create.completed", "sleep.started", "state.ready"]
    assert watcher.see(tcp.status("Sleeping", ready=1, exist=1)) == ["state.notready"]
    assert watcher.see(tcp.status("Sleeping", ready=0)) == ["sleep.completed"]


def test_a_creation_is_cancelled_by_deletion() -> None:
    """The cancellation stands before the deletion's start."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    assert watcher.see(tcp.delete()) == ["create.cancelled", "delete.started"]


def test_an_upgrade_is_requested_started_and_completed() -> None:
    """Requested by the edit, started by the operator's word, completed by the version in status."""
    watcher, tcp = _running()
    assert watcher.see(tcp.wants(version="v1.35.0")) == ["upgrade.requested"]
    assert watcher.see(tcp.status("Upgrading", rollout=1, seen=False)) == ["upgrade.started"]
    assert watcher.see(tcp.status("Upgrading", ready=2, exist=4, updated=2, rollout=2)) == []
    assert watcher.see(tcp.status("Ready", version="v1.35.0", ready=2, rollout=2)) == ["upgrade.completed"]
    assert watcher.last.details["rolledOut"] is True
    facts = watcher.last.operation
    assert facts is not None
    assert (facts.source, facts.target) == ("v1.34.1", "v1.35.0")
    assert {decision.id for decision in watcher.said} == {
        f"{tcp.uid}.upgrade.2.{step}" for step in ("requested", "started", "completed")
    }


def test_an_upgrade_that_flips_18_times_a_second_starts_once() -> None:
    """Upgrading and WriteLimited alternate without end on a write-limited tenant."""
    watcher, tcp = _running()
    watcher.see(tcp.edit("writePermissions/blockCreation", True))  # noqa: FBT003 - the field's value
    assert watcher.see(tcp.status("WriteLimited")) == ["writes.limited"]
    watcher.see(tcp.wants(version="v1.35.0"))
    said: list[str] = []
    for number in range(200):
        said += watcher.see(tcp.status("Upgrading" if number % 2 == 0 else "WriteLimited"), after=1 / 18)
    assert said == ["upgrade.started", "state.looping"]
    assert watcher.see(tcp.status("Ready", version="v1.35.0")) == ["upgrade.completed"]


def test_not_ready_in_the_midst_of_an_upgrade_is_one_upgrade() -> None:
    """Ready, Upgrading, NotReady, Upgrading, Ready."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.see(tcp.status("Upgrading")) == ["upgrade.started"]
    assert watcher.see(tcp.status("NotReady", ready=0, exist=2)) == ["state.notready"]
    assert watcher.see(tcp.status("Upgrading", ready=1, exist=2)) == []
    assert watcher.see(tcp.status("Ready", version="v1.35.0", ready=2)) == ["upgrade.completed", "state.ready"]


def test_a_third_version_supersedes_an_upgrade() -> None:
    """The former ends first, then the new one is requested."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.see(tcp.wants(version="v1.36.0")) == ["upgrade.superseded", "upgrade.requested"]
    assert watcher.find("upgrade.superseded").id == f"{tcp.uid}.upgrade.2.superseded"
    assert watcher.last.id == f"{tcp.uid}.upgrade.3.requested"
    assert watcher.see(tcp.status("Upgrading")) == ["upgrade.started"]
    assert watcher.see(tcp.status("Ready", version="v1.36.0")) == ["upgrade.completed"]


def test_the_running_version_wanted_again_cancels_an_upgrade() -> None:
    """Nothing new is requested."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.see(tcp.wants(version="v1.34.1")) == ["upgrade.cancelled"]
    assert watcher.see(tcp.status("Ready")) == []


def test_skipped_steps_of_an_upgrade_are_told() -> None:
    """A completed is preceded by its started, a started by its requested, all of one resourceVersion."""
    watcher, tcp = _running()
    tcp.wants(version="v1.35.0")
    assert watcher.see(tcp.status("Ready", version="v1.35.0")) == [
        "upgrade.requested",
        "upgrade.started",
        "upgrade.completed",
    ]


def test_an_operation_opens_at_most_once_for_a_generation() -> None:
    """A version in status that falls back asks for nothing."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.see(tcp.status("Ready", version="v1.35.0")) == ["upgrade.started", "upgrade.completed"]
    assert watcher.see(tcp.status("Ready", version="v1.34.1")) == []
    assert watcher.see(tcp.status("Ready", version="v1.35.0")) == []


def test_an_upgrade_asleep_is_not_rolled_out() -> None:
    """Asleep the version is written with no pod run."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=0))
    watcher.see(tcp.status("Sleeping", ready=0))
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.see(tcp.status("Sleeping", version="v1.35.0")) == ["upgrade.started", "upgrade.completed"]
    assert watcher.last.details["rolledOut"] is False


def test_a_version_told_too_early_is_not_rolled_out() -> None:
    """Releases before 25.03.1 say Ready and the version while the old pods still run."""
    watcher, tcp = _running(old=True)
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.see(tcp.status("Ready", version="v1.35.0", ready=2, rollout=1))
    assert watcher.last.details["rolledOut"] is False


def test_a_migration_completes_when_the_target_is_in_status_and_it_serves() -> None:
    """The name flips while pods still run on the old store."""
    watcher, tcp = _running()
    assert watcher.see(tcp.wants(store="other")) == ["migrate.requested"]
    assert watcher.see(tcp.status("Migrating", seen=False)) == ["migrate.started"]
    assert watcher.see(tcp.status("Migrating", store="other", seen=False)) == []
    assert watcher.see(tcp.status("Unknown")) == []
    assert watcher.see(tcp.status("Ready")) == ["migrate.completed"]


def test_a_migration_that_is_reverted_is_cancelled() -> None:
    """Back to the store that is used."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(store="other"))
    watcher.see(tcp.status("Migrating", seen=False))
    assert watcher.see(tcp.wants(store="default")) == ["migrate.cancelled"]
    assert watcher.see(tcp.status("Ready")) == []


def test_a_migration_whose_name_flipped_and_is_reverted_is_superseded() -> None:
    """The target is in status but it does not serve: the way back is a migration of its own."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(store="other"))
    watcher.see(tcp.status("Migrating", store="other", seen=False))
    said = watcher.see(tcp.wants(store="default"))
    assert said == ["migrate.superseded", "migrate.requested", "migrate.started"]
    assert watcher.see(tcp.status("Ready", store="default")) == ["migrate.completed"]


def test_a_scale_completes_when_seen_ready_and_no_more_exist() -> None:
    """The numbers of before the operator saw it say nothing."""
    watcher, tcp = _running()
    assert watcher.see(tcp.wants(replicas=3)) == ["scale.started"]
    assert watcher.see(tcp.status("Unknown", ready=2, exist=3)) == []
    assert watcher.see(tcp.status("Ready", ready=3)) == ["scale.completed"]
    assert watcher.see(tcp.wants(replicas=1)) == ["scale.started"]
    assert watcher.see(tcp.status("Ready", ready=2, exist=2)) == []
    assert watcher.see(tcp.status("Ready", ready=1)) == ["scale.completed"]


def test_a_scale_that_is_not_seen_does_not_complete() -> None:
    """3 to 2 and back to 3: three are ready, but the operator has not seen the last wish."""
    watcher, tcp = _running(replicas=3)
    assert watcher.see(tcp.wants(replicas=2)) == ["scale.started"]
    assert watcher.see(tcp.wants(replicas=3)) == ["scale.superseded", "scale.started"]
    assert watcher.see(tcp.status("Ready", seen=False)) == []
    assert watcher.see(tcp.status("Ready")) == ["scale.completed"]


def test_a_scale_during_an_upgrade_is_an_operation_of_its_own() -> None:
    """Both are open, each ends by itself, the earlier row first."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.see(tcp.status("Upgrading"))
    assert watcher.see(tcp.wants(replicas=3)) == ["scale.started"]
    said = watcher.see(tcp.status("Ready", version="v1.35.0", ready=3))
    assert said == ["upgrade.completed", "scale.completed"]


def test_sleep_and_wake() -> None:
    """Asleep when none exists; awake when seen and serving."""
    watcher, tcp = _running()
    assert watcher.see(tcp.wants(replicas=0)) == ["sleep.started"]
    assert watcher.see(tcp.status("Sleeping", ready=2)) == ["state.notready"]
    assert watcher.last.reason is not None
    assert watcher.last.reason[0] == "Sleeping"
    assert watcher.see(tcp.status("Sleeping", ready=0)) == ["sleep.completed"]
    assert watcher.see(tcp.wants(replicas=2)) == ["wake.started"]
    assert watcher.see(tcp.status("NotReady", ready=0)) == []
    assert watcher.see(tcp.status("Unknown", ready=1, exist=2)) == []
    assert watcher.see(tcp.status("Ready", ready=2)) == ["wake.completed", "state.ready"]


def test_asleep_on_a_release_that_says_ready() -> None:
    """v1.0.0 knows no Sleeping: none wanted and none there is asleep."""
    watcher, tcp = _running(old=True)
    assert watcher.see(tcp.wants(replicas=0)) == ["sleep.started"]
    assert watcher.see(tcp.status("Ready", ready=0)) == ["sleep.completed", "state.notready"]
    assert watcher.last.reason is not None
    assert watcher.last.reason[0] == "Sleeping"
    assert watcher.see(tcp.wants(replicas=1)) == ["wake.started"]
    assert watcher.see(tcp.status("Ready", ready=1)) == ["wake.completed", "state.ready"]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (3, 4, ["scale.superseded", "scale.started"]),
        (3, 0, ["scale.superseded", "sleep.started"]),
        (0, 2, ["sleep.superseded", "wake.started"]),
    ],
)
def test_any_new_number_supersedes(first: int, second: int, said: list[str]) -> None:
    """An open scale, sleep or wake ends when another number is wanted."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=first))
    assert watcher.see(tcp.wants(replicas=second)) == said


def test_an_absent_number_is_two() -> None:
    """Taking the field away from 3 is a scale to 2; writing 2 where nothing stood is nothing."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=3))
    watcher.see(tcp.status("Ready", ready=3))
    assert watcher.see(tcp.edit("controlPlane/deployment/replicas", None)) == ["scale.started"]
    watcher.see(tcp.status("Ready", ready=2))
    assert watcher.see(tcp.wants(replicas=2)) == []


def test_a_rotation_completes_when_it_serves_at_a_later_version() -> None:
    """Whatever the status word: the checksum of the CA decides."""
    watcher, tcp = _running()
    tcp.set("status/certificates/ca/checksum", "ca-2")
    assert watcher.see(tcp) == ["rotation.started"]
    assert watcher.last.id == f"{tcp.uid}.rotation.ca-2.started"
    assert watcher.see(tcp) == []
    assert watcher.see(tcp.set("status/certificates/apiServer/checksum", "api-2")) == ["rotation.completed"]
    assert watcher.last.details["certificates"] == ["apiServer", "ca"]


def test_a_rotation_with_its_word_waits_until_it_serves() -> None:
    """Other certificates, the kubeconfig too, move meanwhile."""
    watcher, tcp = _running()
    tcp.set("status/certificates/ca/checksum", "ca-2")
    assert watcher.see(tcp.status("CertificateAuthorityRotating")) == ["rotation.started"]
    assert watcher.see(tcp.set("status/certificates/apiServer/checksum", "api-2")) == []
    assert watcher.see(tcp.set("status/kubeconfig/admin/checksum", "kube-2")) == ["kubeconfig.rotated"]
    assert watcher.see(tcp.status("Unknown", ready=1, exist=2)) == []
    assert watcher.see(tcp.status("Ready", ready=2)) == ["rotation.completed"]


def test_a_rotation_found_by_comparing_completes_at_once() -> None:
    """It happened while nobody watched."""
    watcher, tcp = _running()
    tcp.set("status/certificates/ca/checksum", "ca-2").set("status/certificates/apiServer/checksum", "api-2")
    assert watcher.relist(tcp) == ["rotation.started", "rotation.completed"]
    assert all(decision.reconstructed for decision in watcher.said)


def test_a_second_move_of_the_authority_ends_the_first_rotation() -> None:
    """Each new CA is an operation of its own."""
    watcher, tcp = _running()
    watcher.see(tcp.set("status/certificates/ca/checksum", "ca-2").status("CertificateAuthorityRotating"))
    said = watcher.see(tcp.set("status/certificates/ca/checksum", "ca-3"))
    assert said == ["rotation.cancelled", "rotation.started"]


def test_deletion_cancels_what_is_open_in_the_order_of_the_table() -> None:
    """States come before the deletion's start, nothing but it after."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.see(tcp.wants(store="other"))
    watcher.see(tcp.wants(replicas=3))
    assert watcher.see(tcp.delete()) == ["upgrade.cancelled", "migrate.cancelled", "scale.cancelled", "delete.started"]
    assert watcher.see(tcp.status("NotReady", ready=0)) == []
    assert watcher.see(tcp.set("metadata/annotations", {"kamaji.clastix.io/paused": ""})) == ["state.paused"]
    assert watcher.see(tcp.set("metadata/annotations", None)) == ["state.resumed"]
    assert watcher.see(tcp.touch(), "DELETED") == ["delete.finalized"]


def test_an_operation_that_reached_its_goal_is_completed_by_the_version_that_deletes() -> None:
    """Its own target is judged first."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    tcp.status("Ready", version="v1.35.0").delete()
    assert watcher.see(tcp) == ["upgrade.started", "upgrade.completed", "delete.started"]


def test_an_object_that_vanishes_without_a_word_is_told_in_full() -> None:
    """No finalizer, no deletionTimestamp: the DELETED line is all there is."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.see(tcp.touch(), "DELETED") == ["upgrade.cancelled", "delete.started", "delete.finalized"]
