"""What the events of a DataStore say beside their names."""

from typing import Any

import pytest

from publisher.lifecycle.policy import Policy
from tests.support.tcp import START, Store, Watcher

_VALIDATION = "kamaji.clastix.io/DataStoreValidation"
_CREATED = "metadata", "creationTimestamp"


def _set(store: Store, path: tuple[str, ...], value: Any) -> Store:
    place = store.object
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    return store.touch()


def test_each_event_says_why_in_one_word() -> None:
    """Subscribers filter by the word, so it is as fixed as the name."""
    watcher, store = Watcher(), Store(used_by=["a/a"])
    watcher.see(store, "ADDED")
    watcher.see(store.status(ready=False, used_by=["a/a"]))
    watcher.see(store.status(ready=False))
    watcher.see(_set(store, ("metadata", "deletionTimestamp"), "2026-12-01T14:30:00Z"))
    watcher.see(store, "DELETED")
    assert [(item.name, item.reason[0] if item.reason else "", item.change) for item in watcher.said] == [
        ("state.created", "Created", None),
        ("state.ready", "Ready", ("status.ready", None, True)),
        ("usage.changed", "UsageChanged", None),
        ("state.notready", "NotReady", ("status.ready", True, False)),
        ("usage.changed", "UsageChanged", None),
        ("delete.started", "DeletionRequested", None),
        ("delete.completed", "ObjectGone", None),
    ]
    assert watcher.find("state.ready").details["tenants"] == ["a/a"]
    assert watcher.find("delete.started").seconds == START + 1800
    assert [item.sequence for item in watcher.said] == [f"000001-{number:014d}" for number in range(1, 8)]


def test_a_store_is_told_whole() -> None:
    """Only annotations that are carried; what is not known is None."""
    store = _set(Store(), ("metadata", "annotations"), {"a": "1", "b": "2"})
    _set(store, ("metadata", "labels"), {"tier": "gold"})
    watcher = Watcher(store, policy=Policy(annotations=("a", "c")))
    watcher.see(store.status(ready=False, used_by=["a/a", "b/b"]))
    last = watcher.find("state.notready")
    assert last.object == {
        "apiVersion": "kamaji.clastix.io/v1alpha1",
        "kind": "DataStore",
        "namespace": None,
        "name": "default",
        "uid": "store-default",
        "generation": 1,
        "resourceVersion": store.object["metadata"]["resourceVersion"],
        "labels": {"tier": "gold"},
        "annotations": {"a": "1"},
    }
    assert last.state == {"ready": False, "driver": "etcd", "usedBy": 2, "deleting": False}
    assert (last.namespace, last.object_name, last.reconstructed) == (None, "default", False)


def test_what_a_later_look_does_not_say_stays_known() -> None:
    """Driver, generation and version of the API; what was never said is None, or the API's first version."""
    store = _set(Store(), ("apiVersion",), "kamaji.clastix.io/v2")
    watcher = Watcher(store)
    _set(store, ("apiVersion",), None)
    _set(store, ("metadata", "generation"), None)
    _set(store, ("spec",), {})
    watcher.see(store.status(ready=False))
    assert (watcher.last.object["apiVersion"], watcher.last.object["generation"]) == ("kamaji.clastix.io/v2", 1)
    assert watcher.last.state["driver"] == "etcd"
    watcher = Watcher()
    watcher.see(store, "ADDED")
    assert watcher.last.object["apiVersion"] == "kamaji.clastix.io/v1alpha1"
    assert (watcher.last.object["generation"], watcher.last.state["driver"]) == (None, None)


@pytest.mark.parametrize(
    ("created", "at"), [("2026-12-01T13:00:00Z", START - 3600), (None, START + 2), ("soon", START + 2)]
)
def test_a_store_was_created_when_it_says(created: str | None, at: float) -> None:
    """Or when it was seen."""
    watcher = Watcher()
    watcher.see(_set(Store(ready=None), _CREATED, created), "ADDED")
    assert (watcher.last.name, watcher.last.seconds) == ("state.created", at)


@pytest.mark.parametrize(
    ("condition", "at"),
    [
        ({"type": _VALIDATION, "status": "False", "lastTransitionTime": "2026-12-01T14:00:01Z"}, START + 1),
        ({"type": _VALIDATION, "status": "False", "lastTransitionTime": "2026-12-01T14:00:02Z"}, START + 2),
        ({"type": _VALIDATION, "status": "False", "lastTransitionTime": "2026-12-01T15:00:00Z"}, START + 2),
        ({"type": _VALIDATION, "status": "False", "lastTransitionTime": "soon"}, START + 2),
        ({"type": _VALIDATION, "status": "True", "lastTransitionTime": "2026-12-01T14:00:01Z"}, START + 2),
        ({"type": "Other", "status": "False", "lastTransitionTime": "2026-12-01T14:00:01Z"}, START + 2),
    ],
)
def test_not_ready_has_the_time_of_its_condition(condition: dict[str, str], at: float) -> None:
    """Unless that lies ahead, or is of another word or condition; ready likewise."""
    for ready in (False, True):
        told = {"False": str(ready), "True": str(not ready)}
        store = Store(ready=not ready)
        watcher = Watcher(store)
        store.status(ready=ready)
        watcher.see(_set(store, ("status", "conditions"), [condition | {"status": told[condition["status"]]}]))
        assert watcher.last.seconds == at


def test_a_deletion_of_the_baseline_is_told_with_its_end() -> None:
    """Silent at first, as all of the baseline."""
    store = _set(Store(), ("metadata", "deletionTimestamp"), "2026-12-01T14:30:00Z")
    watcher = Watcher(store)
    assert watcher.see(store.touch()) == []
    assert watcher.see(store.touch(), "DELETED") == ["delete.started", "delete.completed"]
    assert watcher.last.state["deleting"] is True


def test_a_new_epoch_counts_a_store_from_one() -> None:
    """And marks its ids."""
    store = Store()
    watcher = Watcher(store)
    watcher.see(store.status(ready=False))
    watcher.fleet.begin_epoch()
    watcher.see(store.status(ready=True))
    watcher.see(store.status(ready=False))
    assert [item.sequence for item in watcher.said[-2:]] == ["000002-00000000000001", "000002-00000000000002"]
