"""Lists that are compared with what is remembered: relists, restarts, successors and new epochs."""

from tests.support.tcp import Tcp, Watcher


def test_an_upgrade_that_began_and_ended_meanwhile_is_told_in_full() -> None:
    """Requested, started and completed, of one resourceVersion."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    tcp.wants(version="v1.35.0").status("Ready", version="v1.35.0")
    assert watcher.relist(tcp) == ["upgrade.requested", "upgrade.started", "upgrade.completed"]
    assert all(decision.reconstructed for decision in watcher.said)
    assert watcher.relist(tcp) == []


def test_an_open_upgrade_is_judged_against_its_own_target_first() -> None:
    """The next one was asked for meanwhile."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    watcher.see(tcp.wants(version="v1.35.0"))
    tcp.status("Ready", version="v1.35.0").wants(version="v1.36.0")
    assert watcher.relist(tcp) == ["upgrade.started", "upgrade.completed", "upgrade.requested"]


def test_an_open_upgrade_that_another_one_overtook() -> None:
    """Superseded, and the overtaking one is told in full."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    watcher.see(tcp.wants(version="v1.35.0"))
    tcp.wants(version="v1.36.0").status("Ready", version="v1.36.0")
    assert watcher.relist(tcp) == [
        "upgrade.superseded",
        "upgrade.requested",
        "upgrade.started",
        "upgrade.completed",
    ]


def test_a_migration_that_began_and_has_not_ended_stays_open() -> None:
    """The store is another one already, but it does not serve."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    tcp.wants(store="other").status("Migrating", store="other")
    assert watcher.relist(tcp) == ["migrate.requested", "migrate.started"]
    assert watcher.see(tcp.status("Ready")) == ["migrate.completed"]


def test_a_new_object_with_a_version_has_lived_already() -> None:
    """Created, completed, ready, and whatever contradicts that now."""
    watcher = Watcher()
    tcp = Tcp().running().status("NotReady", ready=0, exist=2)
    assert watcher.relist(tcp) == [
        "create.started",
        "create.completed",
        "state.ready",
        "state.notready",
        "endpoint.assigned",
        "kubeconfig.available",
    ]


def test_a_new_object_that_is_being_upgraded() -> None:
    """The upgrade follows the creation."""
    watcher = Watcher()
    tcp = Tcp().running().wants(version="v1.35.0").status("Upgrading")
    assert watcher.relist(tcp)[:4] == ["create.started", "create.completed", "upgrade.requested", "upgrade.started"]


def test_a_new_object_without_a_version_is_being_created() -> None:
    """Nothing says that it ever served."""
    watcher = Watcher()
    assert watcher.relist(Tcp().status("Provisioning", ready=0)) == ["create.started"]


def test_a_creation_that_ended_meanwhile_was_ready_once() -> None:
    """A version in status is only written when it was."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    assert watcher.relist(tcp.status("NotReady", version="v1.34.1", ready=0)) == [
        "create.completed",
        "state.ready",
        "state.notready",
    ]


def test_a_vanished_object_gives_its_end() -> None:
    """With its last known state."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.relist() == ["upgrade.cancelled", "delete.started", "delete.finalized"]
    assert watcher.last.object["resourceVersion"] == tcp.version
    assert watcher.last.reconstructed


def test_a_successor_in_a_list_is_another_object() -> None:
    """By uid; the former one's end comes first."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    successor = Tcp()
    assert watcher.relist(successor) == ["delete.started", "delete.finalized", "create.started"]
    assert [decision.uid for decision in watcher.said] == [tcp.uid, tcp.uid, successor.uid]


def test_a_successor_in_a_watch_whose_delete_was_lost() -> None:
    """A watch cache can lose one."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    assert watcher.see(Tcp(), "ADDED") == ["delete.started", "delete.finalized", "create.started"]


def test_what_was_undone_meanwhile_leaves_no_event() -> None:
    """Scaled up and down again."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    tcp.wants(replicas=3).status("Ready", ready=3).wants(replicas=2).status("Ready", ready=2)
    assert watcher.relist(tcp) == []


def test_sleep_and_scale_that_ended_meanwhile() -> None:
    """Started and completed at once."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    assert watcher.relist(tcp.wants(replicas=0).status("Sleeping", ready=0)) == [
        "sleep.started",
        "sleep.completed",
        "state.notready",
    ]
    assert watcher.relist(tcp.wants(replicas=3).status("Ready", ready=3)) == [
        "wake.started",
        "wake.completed",
        "state.ready",
    ]
    assert watcher.relist(tcp.wants(replicas=1).status("Ready", ready=1)) == ["scale.started", "scale.completed"]


def test_an_upgrade_found_open_in_the_baseline_is_silent_until_something_is_said() -> None:
    """Whatever is said is preceded by what was skipped."""
    tcp = Tcp().running().wants(version="v1.35.0").status("Upgrading")
    watcher = Watcher(tcp)
    assert watcher.at_baseline == []
    assert watcher.see(tcp.status("Upgrading", ready=3, exist=4)) == []
    assert watcher.see(tcp.status("Ready", version="v1.35.0", ready=2)) == [
        "upgrade.requested",
        "upgrade.started",
        "upgrade.completed",
        "state.ready",
    ]


def test_an_upgrade_found_open_stalls_with_its_request() -> None:
    """Its clock started with the baseline."""
    tcp = Tcp().running().wants(version="v1.35.0")
    watcher = Watcher(tcp)
    assert watcher.wait(900) == ["upgrade.requested", "upgrade.stalled"]
    assert watcher.see(tcp.wants(version="v1.34.1")) == ["upgrade.cancelled"]


def test_a_creation_found_open() -> None:
    """It was not announced, its end is."""
    tcp = Tcp().status("Provisioning", ready=0)
    watcher = Watcher(tcp)
    assert watcher.at_baseline == []
    assert watcher.see(tcp.status("Ready", version="v1.34.1", ready=2)) == [
        "create.started",
        "create.completed",
        "state.ready",
    ]


def test_a_deletion_found_open() -> None:
    """Only its end is told, preceded by its start."""
    tcp = Tcp().running().delete()
    watcher = Watcher(tcp)
    assert watcher.at_baseline == []
    assert watcher.see(tcp.touch(), "DELETED") == ["delete.started", "delete.finalized"]


def test_a_restart_goes_on_with_the_memory_as_bytes() -> None:
    """Nothing is said twice, numbers go on, open operations end."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.running())
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.restart()
    assert watcher.see(tcp) == []
    assert watcher.see(tcp.status("Ready", version="v1.35.0")) == ["upgrade.started", "upgrade.completed"]
    numbers = [decision.sequence for decision in watcher.said]
    assert numbers == [f"000001-{number:014d}" for number in range(1, len(numbers) + 1)]


def test_a_list_after_a_restart_is_no_baseline() -> None:
    """What is new in it is told."""
    watcher = Watcher(Tcp().running())
    watcher.restart()
    watcher.relist(*[Tcp("new", namespace="other").running()])
    assert "create.started" in [decision.name for decision in watcher.said]


def test_a_new_epoch_marks_ids_and_counts_anew() -> None:
    """The cluster went back in time: what was asked for once can be asked for again."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    before = tcp.copy()
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.see(tcp.status("Ready", version="v1.35.0"))
    assert watcher.relist(before, rewound="200") == ["upgrade.requested", "upgrade.started", "upgrade.completed"]
    assert watcher.fleet.epoch == 2
    assert watcher.last.sequence == "000002-00000000000003"
    assert watcher.last.id == f"{tcp.uid}~2.upgrade.1.completed"
    assert watcher.see(tcp.wants(replicas=3)) != []
    assert watcher.last.id.startswith(f"{tcp.uid}~2.")


def test_an_operation_keeps_its_id_across_epochs() -> None:
    """It was opened under that name."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.relist(tcp.status("Ready", version="v1.35.0"), rewound="200")
    assert watcher.last.id == f"{tcp.uid}.upgrade.2.completed"
    assert watcher.last.sequence.startswith("000002-")


def test_a_list_that_begins_again_forgets_its_first_half() -> None:
    """It failed on its way: what was in it is not gone for that."""
    first, second = Tcp("first").running(), Tcp("second").running()
    watcher = Watcher(first, second)
    assert watcher.relist(first, second) == []
    assert watcher.fleet.counts()["tenantcontrolplanes"] == 2


def test_an_object_that_lives_again_after_a_step_back_in_time() -> None:
    """It was gone, and what it owned was still being looked for."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    watcher.see(tcp.delete())
    watcher.see(tcp.touch(), "DELETED")
    assert watcher.relist(tcp) == []
    restored = Tcp(uid=tcp.uid).running()
    assert watcher.relist(restored, rewound="200")[:3] == ["create.started", "create.completed", "state.ready"]
    assert watcher.fleet.counts()["tenantcontrolplanes"] == 1
    assert watcher.see(restored.touch()) == []
