"""Each row of the contract's table of DataStores."""

from tests.support.tcp import Store, Tcp, Watcher


def test_a_new_store_is_created_and_ready() -> None:
    """The baseline's are not announced."""
    watcher = Watcher(Store("old"))
    assert watcher.at_baseline == []
    assert watcher.see(Store("new", ready=None), "ADDED") == ["state.created"]
    assert watcher.see(Store("new").touch()) == ["state.ready"]


def test_ready_and_notready_name_the_tenants() -> None:
    """Nothing is reconciled for them meanwhile."""
    store = Store(used_by=["tenants/acme"])
    watcher = Watcher(store)
    assert watcher.see(store.status(ready=False, used_by=["tenants/acme"])) == ["state.notready"]
    assert watcher.last.details["tenants"] == ["tenants/acme"]
    assert watcher.see(store.status(used_by=["tenants/acme"])) == ["state.ready"]
    assert watcher.see(store.touch()) == []


def test_a_word_that_appears_with_an_operators_upgrade_is_no_event() -> None:
    """status.ready is absent before 26.2.5."""
    store = Store(ready=None)
    watcher = Watcher(store)
    assert watcher.see(store.status(ready=True)) == []
    assert watcher.see(store.status(ready=None)) == []
    assert watcher.see(store.status(ready=False)) == ["state.notready"]


def test_usage_changed_tells_who() -> None:
    """Added and removed."""
    store = Store(used_by=["a/a", "b/b"])
    watcher = Watcher(store)
    assert watcher.see(store.status(used_by=["b/b", "c/c"])) == ["usage.changed"]
    assert watcher.last.details == {"added": ["c/c"], "removed": ["a/a"]}
    assert watcher.see(store.status(used_by=["c/c", "b/b"])) == []


def test_a_store_is_deleted() -> None:
    """Its start and its end, also when only the end was seen."""
    store, other = Store(), Store("other")
    watcher = Watcher(store, other)
    store.object["metadata"]["deletionTimestamp"] = "2026-12-01T14:30:00Z"
    assert watcher.see(store.touch()) == ["delete.started"]
    assert watcher.see(store.touch(), "DELETED") == ["delete.completed"]
    assert watcher.relist() == ["delete.started", "delete.completed"]
    assert watcher.last.reconstructed


def test_a_store_without_a_status_says_nothing() -> None:
    """What was known stays."""
    store = Store(used_by=["a/a"])
    watcher = Watcher(store)
    store.object["status"] = None
    assert watcher.see(store.touch()) == []
    assert watcher.see(store.status(used_by=["a/a"])) == []


def test_a_store_that_was_made_anew_is_another_one() -> None:
    """By uid."""
    store, successor = Store(), Store()
    watcher = Watcher(store, Tcp().running())
    successor.object["metadata"]["uid"] = "store-2"
    assert watcher.see(successor, "ADDED") == ["delete.started", "delete.completed", "state.created", "state.ready"]
