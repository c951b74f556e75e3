"""What the fleet as a whole remembers: everything that a restart needs, what surrounds an object, epochs."""

import pytest

from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.looks import Found
from publisher.lifecycle.policy import Policy
from publisher.observation import Resource, SyncEnded, SyncStarted
from tests.support.tcp import START, Store, Tcp, Watcher


def _gone(*others: Tcp | Store) -> tuple[Watcher, Tcp]:
    tcp = Tcp().running()
    watcher = Watcher(tcp, *others)
    watcher.see(tcp.delete())
    watcher.see(tcp.touch(), "DELETED", after=0.0)
    return watcher, tcp


def _restarted(watcher: Watcher) -> Watcher:
    watcher.restart()
    return watcher


def test_an_object_that_is_gone_is_asked_for_at_once_after_a_restart() -> None:
    """It does not live, and its end is told as without one."""
    watcher, tcp = _gone(Store())
    assert watcher.fleet.living() == []
    _restarted(watcher)
    assert watcher.fleet.living() == []
    assert watcher.fleet.open_looks()
    assert watcher.see(tcp.touch()) == []
    assert watcher.relist(Store()) == []
    (look,) = watcher.looks()
    assert watcher.answer(look) == ["delete.completed"]
    assert watcher.fleet.changed()[tcp.uid] is None


def test_a_restart_remembers_what_was_answered() -> None:
    """Nothing is left, and only the DataStore's word is missing; what is left is not asked for before its time."""
    store = Store(used_by=["tenants/acme"])
    watcher, _ = _gone(store)
    watcher.answer(watcher.looks()[0])
    assert _restarted(watcher).see(store.status()) == ["usage.changed", "delete.completed"]
    watcher, _ = _gone(store.status(used_by=["tenants/acme"]))
    watcher.answer(watcher.looks()[0])
    assert _restarted(watcher).wait(3.9) == []
    assert watcher.wait(1.1) == ["delete.completed"]
    watcher, _ = _gone(Store())
    for _ in range(5):
        watcher.answer(watcher.looks()[0], Found("Pod", "p"))
        watcher.wait(16)
    watcher.answer(watcher.looks()[0], Found("Pod", "p"))
    assert _restarted(watcher).looks() == []
    watcher.wait(29)
    assert watcher.looks() == []
    watcher.wait(1)
    assert watcher.looks() != []


def test_a_restart_remembers_what_the_clock_decided() -> None:
    """It is not told twice."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.wants(replicas=3).status("NotReady", ready=0))
    assert watcher.wait(60) == ["outage.started"]
    watcher.restart()
    assert watcher.wait(540) == ["scale.stalled"]
    watcher.restart()
    assert watcher.wait(3600) == []


def test_a_restart_knows_who_lives() -> None:
    """A namesake that comes then ends the former; a neighbour keeps the namespace."""
    tcp, other = Tcp().running(), Tcp("other").running()
    watcher = Watcher(tcp, other, Store())
    watcher.restart()
    said = watcher.see(Tcp(uid="uid-successor"), "ADDED")
    assert said == ["delete.started", "delete.finalized", "create.started"]
    watcher.answer(watcher.looks()[0])
    assert watcher.last.details["recreatedAs"] == "uid-successor"
    assert watcher.last.details["namespaceFree"] is False


def test_questions_are_asked_in_order() -> None:
    """By uid, so that two runs over a recording ask the same."""
    tcps = [Tcp(f"t{number}", uid=f"uid-{number}").running() for number in (5, 3, 8, 1, 7, 2)]
    watcher = Watcher(*tcps)
    for tcp in tcps:
        watcher.see(tcp.touch(), "DELETED")
    expected = [f"uid-{number}" for number in (1, 2, 3, 5, 7, 8)]
    assert [look.uid for look in watcher.fleet.open_looks()] == expected
    assert [look.uid for look in watcher.looks()] == expected


@pytest.mark.parametrize(("listed", "told"), [(True, True), (False, False)])
def test_only_what_a_list_finds_happened_while_nobody_watched(*, listed: bool, told: bool) -> None:
    """A new object, one that changed, one that is gone, and a DataStore likewise."""
    tcp, store = Tcp().running(), Store()
    watcher = Watcher(tcp, store)
    new, other = Tcp("new"), Store("other")
    if listed:
        watcher.relist(tcp.status("NotReady", ready=0), new, other)
        watcher.relist()
    else:
        watcher.see(new, "ADDED")
        watcher.see(other, "ADDED")
        watcher.see(tcp.status("NotReady", ready=0))
        for item in (store, other, tcp, new):
            watcher.see(item.touch(), "DELETED")
    assert {"create.started", "state.notready", "delete.finalized", "state.created"} <= {
        item.name for item in watcher.said
    }
    assert {item.reconstructed for item in watcher.said} == {told}


def test_a_store_that_is_gone_is_no_blocker_and_no_user() -> None:
    """Nobody asks it any more, also after a restart; its successor is another one."""
    store = Store(used_by=["tenants/acme"])
    watcher, _ = _gone(store)
    watcher.answer(watcher.looks()[0])
    watcher.restart()
    watcher.see(store.touch(), "DELETED")
    watcher.restart()
    assert watcher.relist() == []
    tcp = Tcp("other", store="default")
    watcher.see(tcp, "ADDED")
    watcher.wait(600)
    reasons = [blocker["reason"] for blocker in watcher.find("create.stalled").details["blockers"]]
    assert reasons == ["DataStoreMissing", "NoEndpoint"]


@pytest.mark.parametrize(
    ("stores", "migrating", "cleanup"),
    [
        ([Store(), Store("other")], True, "verified"),
        ([Store()], True, "unverified"),
        ([Store("other")], True, "unverified"),
        ([Store(), Store("third", used_by=["tenants/acme"])], False, "unverified"),
        ([Store("third")], False, "unverified"),
        ([Store()], False, "verified"),
    ],
)
def test_every_store_that_it_may_have_used_has_to_let_go(stores: list[Store], cleanup: str, *, migrating: bool) -> None:
    """The one in use and the one that was wanted; and any that still lists it."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, *stores)
    if migrating:
        watcher.see(tcp.wants(store="other"))
    watcher.see(tcp.touch(), "DELETED")
    watcher.answer(watcher.looks()[0])
    watcher.wait(5)
    assert watcher.last.name == "delete.completed"
    assert watcher.last.details["cleanup"] == cleanup


def test_the_fleet_is_counted() -> None:
    """By status, in order; what is gone does not count."""
    tcps = [Tcp(name).running() for name in ("a", "b", "c", "d")]
    watcher = Watcher(*tcps, Tcp("e"), Store())
    watcher.see(tcps[0].status("NotReady", ready=0))
    watcher.see(tcps[1].wants(replicas=3))
    watcher.see(tcps[2].delete())
    watcher.see(tcps[3].touch(), "DELETED")
    counts = watcher.fleet.counts()
    assert counts == {
        "tenantcontrolplanes": 4,
        "datastores": 1,
        "byStatus": {"NotReady": 1, "Ready": 2, "Unknown": 1},
        "deleting": 1,
        "openOperations": 3,
    }
    assert list(counts["byStatus"]) == ["NotReady", "Ready", "Unknown"]


@pytest.mark.parametrize(
    ("steps", "epochs"),
    [
        ([("t", True), ("s", True)], [2, 2]),
        ([("t", True), ("t", True)], [2, 3]),
        ([("t", True), ("s", True), ("s", True), ("t", True)], [2, 2, 3, 3]),
        ([("t", True), ("t", False), ("s", True)], [2, 2, 3]),
        ([("t", True), ("s", False), ("t", True)], [2, 2, 3]),
        ([("t", False), ("s", False)], [1, 1]),
    ],
)
def test_one_step_back_in_time_is_one_epoch(steps: list[tuple[str, bool]], epochs: list[int]) -> None:
    """However many resources notice it; the same one noticing again is another step."""
    fleet = Fleet(Policy())
    found = []
    for word, rewound in steps:
        resource = Resource.TENANTCONTROLPLANES if word == "t" else Resource.DATASTORES
        fleet.observe(SyncStarted(resource, "2000" if rewound else None), START)
        fleet.observe(SyncEnded(resource, "1000"), START)
        found.append(fleet.epoch)
    assert found == epochs
    assert fleet.begin_epoch() == epochs[-1] + 1


@pytest.mark.parametrize(
    ("created", "said"),
    [
        ("2026-12-01T14:00:01Z", ["create.started"]),
        ("2026-12-01T14:00:00Z", []),
        ("2026-12-01T13:00:00Z", []),
    ],
)
def test_what_was_created_after_the_history_ends_is_new(created: str, said: list[str]) -> None:
    """What is older and not in it is the baseline."""
    watcher = Watcher()
    watcher.fleet = Fleet.restore(Policy(), {}, synced=(), recalled_until=START)
    assert watcher.relist(Tcp().set("metadata/creationTimestamp", created)) == said


def test_a_restored_fleet_has_taken_its_baselines() -> None:
    """Unless it is said that one had not been taken up completely."""
    for synced, said in ((None, ["create.started"]), ([Resource.DATASTORES], [])):
        watcher = Watcher()
        watcher.fleet = Fleet.restore(Policy(), {}) if synced is None else Fleet.restore(Policy(), {}, synced=synced)
        assert watcher.fleet.epoch == 1
        assert watcher.relist(Tcp()) == said
