"""What each event teaches: the recalled memory beside the one that decided it."""

from collections.abc import Callable

import pytest

from kamaji_events.event import Event
from publisher.lifecycle.memory import OpenOperation, StoreMemory, TcpMemory
from publisher.lifecycle.recall import Recall
from publisher.render import render
from tests.support.tcp import START, Store, Tcp, Watcher


def _recalled(watcher: Watcher) -> Recall:
    recall = Recall()
    for decision in watcher.said:
        recall.take(Event.from_bytes(render(decision, cluster="c", term=1).body))
    return recall


def _tcp(watcher: Watcher) -> TcpMemory:
    (found,) = (memory for memory in _recalled(watcher).memories().values() if isinstance(memory, TcpMemory))
    return found


def _store(watcher: Watcher) -> StoreMemory:
    (found,) = (memory for memory in _recalled(watcher).memories().values() if isinstance(memory, StoreMemory))
    return found


def _born() -> tuple[Watcher, Tcp]:
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    return watcher, tcp


def _built() -> tuple[Watcher, Tcp]:
    watcher, tcp = _born()
    watcher.see(tcp.running())
    return watcher, tcp


def _same(watcher: Watcher) -> TcpMemory:
    """Recalled, it knows of itself what the real one does."""
    found, (real,) = _tcp(watcher), watcher.fleet.living()
    for memory in (found, real):
        assert (memory.uid, memory.namespace, memory.name) == (real.uid, "tenants", "acme")
    assert (found.version, found.api_version) == (watcher.last.object["resourceVersion"], real.api_version)
    assert (found.created, found.ready, found.degraded, found.limited) == (
        real.created,
        real.ready,
        real.degraded,
        real.limited,
    )
    assert (found.endpoint_told, found.outage_since) == (real.endpoint_told, real.outage_since)
    for name in ("generation", "word", "version", "store", "ready", "wanted", "verbs", "endpoint", "kubeconfig_secret"):
        assert getattr(found.facts, name) == getattr(real.facts, name), name
    assert (found.facts.paused, found.facts.labels) == (real.facts.paused, real.facts.labels)
    assert [_told(operation) for operation in found.operations] == [_told(operation) for operation in real.operations]
    return found


def _told(operation: OpenOperation) -> tuple[object, ...]:
    return (
        operation.kind,
        operation.asked_by,
        operation.epoch,
        operation.requested_at,
        operation.started_at,
        operation.source,
        operation.target,
        operation.reached,
        operation.told,
        operation.stalled,
    )


def _upgrading(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.wants(version="v1.35.0"))


def _migrating(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.wants(store="other").status("Migrating"))


def _upgraded(watcher: Watcher, tcp: Tcp) -> None:
    _upgrading(watcher, tcp)
    watcher.see(tcp.status("Ready", version="v1.35.0"))


def _stalled(watcher: Watcher, tcp: Tcp) -> None:
    _upgrading(watcher, tcp)
    watcher.wait(900)


def _fallen(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.status("NotReady", ready=0))


def _out(watcher: Watcher, tcp: Tcp) -> None:
    _fallen(watcher, tcp)
    watcher.wait(60)


def _up_again(watcher: Watcher, tcp: Tcp) -> None:
    _out(watcher, tcp)
    watcher.see(tcp.status("Ready", ready=2))


def _degraded(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.status("Ready", ready=1, exist=2))


def _recovered(watcher: Watcher, tcp: Tcp) -> None:
    _degraded(watcher, tcp)
    watcher.see(tcp.status("Ready", ready=2))


def _fallen_when_degraded(watcher: Watcher, tcp: Tcp) -> None:
    _degraded(watcher, tcp)
    _fallen(watcher, tcp)


def _limited(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.edit("writePermissions/blockUpdate", value=True).status("WriteLimited"))


def _limited_and_labelled(watcher: Watcher, tcp: Tcp) -> None:
    _limited(watcher, tcp)
    watcher.see(tcp.set("metadata/labels", {"tier": "silver"}))


def _paused(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.set("metadata/annotations", {"kamaji.clastix.io/paused": ""}))


def _asleep(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.wants(replicas=0))
    watcher.see(tcp.status("Sleeping", ready=0))


def _deleting(watcher: Watcher, tcp: Tcp) -> None:
    watcher.see(tcp.delete())


@pytest.mark.parametrize(
    "live",
    [
        _upgrading,
        _migrating,
        _upgraded,
        _stalled,
        _fallen,
        _out,
        _up_again,
        _degraded,
        _recovered,
        _fallen_when_degraded,
        _limited,
        _limited_and_labelled,
        _paused,
        _asleep,
        _deleting,
    ],
)
def test_what_events_tell_is_recalled(live: Callable[[Watcher, Tcp], None]) -> None:
    """As the memory that decided them has it."""
    watcher, tcp = _built()
    live(watcher, tcp)
    _same(watcher)


def test_what_is_wanted_is_what_an_open_operation_goes_to() -> None:
    """Else what runs: a difference would be an operation of its own."""
    watcher, tcp = _built()
    facts = _tcp(watcher).facts
    assert (facts.wanted_version, facts.wanted_store) == ("v1.34.1", "default")
    _upgrading(watcher, tcp)
    _migrating(watcher, tcp)
    facts = _tcp(watcher).facts
    assert (facts.wanted_version, facts.wanted_store) == ("v1.35.0", "other")


def test_an_open_operation_is_recalled_with_when_it_was_told() -> None:
    """Its limit counts from then."""
    watcher, tcp = _built()
    _upgrading(watcher, tcp)
    (operation,) = _tcp(watcher).operations
    assert (operation.opened, operation.version) == (watcher.now, tcp.version)


def test_a_creation_is_recalled_before_anything_is_known() -> None:
    """No version, no replicas: not created, never ready, no endpoint told."""
    watcher, _ = _born()
    found = _same(watcher)
    assert (found.facts.replicas, found.facts.bootstrap, found.facts.deleting) == (-1, "", 0.0)
    assert (found.ready, found.unclear, found.created) == (None, False, False)


def test_a_bootstrap_is_recalled_as_done() -> None:
    """With the version it is taken for done: the event may be older than the history."""
    watcher, tcp = _born()
    watcher.see(tcp.set("status/kubeadmPhase/bootstrapToken/checksum", "token-1"))
    watcher.see(tcp.set("metadata/labels", {}))
    assert _tcp(watcher).facts.bootstrap
    assert _tcp(_built()[0]).facts.bootstrap


def test_the_clock_of_an_outage_is_recalled() -> None:
    """It runs from state.notready, not while it sleeps, and not once it is ready."""
    watcher, tcp = _built()
    _fallen(watcher, tcp)
    assert _tcp(watcher).down_since == watcher.now
    watcher.see(tcp.status("Ready", ready=2))
    assert _tcp(watcher).down_since == 0.0
    _asleep(watcher, tcp)
    assert _tcp(watcher).down_since == 0.0


def test_the_end_of_an_object_is_recalled() -> None:
    """Since when it is deleted and gone; nothing is known of it once that is over."""
    watcher, tcp = _built()
    _deleting(watcher, tcp)
    found = _tcp(watcher)
    assert (found.facts.deleting, found.farewell) == (START + 1800, None)
    watcher.see(tcp.touch(), "DELETED")
    found = _tcp(watcher)
    assert found.farewell is not None
    assert (found.facts.deleting, found.farewell.gone) == (START + 1800, watcher.now)
    watcher.answer(watcher.looks()[0])
    watcher.wait(5)
    assert watcher.last.name == "delete.completed"
    assert _recalled(watcher).memories() == {}


def test_a_rotation_is_recalled_by_its_checksum() -> None:
    """And an operation of a new epoch by that."""
    watcher, tcp = _built()
    watcher.see(tcp.set("status/certificates/ca/checksum", "ca-2").status("CertificateAuthorityRotating"))
    assert [(found.kind, found.asked_by) for found in _same(watcher).operations] == [("rotation", "ca-2")]
    watcher, tcp = _built()
    watcher.fleet.begin_epoch()
    _upgrading(watcher, tcp)
    assert [(found.kind, found.epoch) for found in _same(watcher).operations] == [("upgrade", 2)]


def test_a_store_is_recalled() -> None:
    """Its users are those of its last event, and what came and went since."""
    watcher, store = Watcher(), Store(used_by=["a/a", "b/b"])
    store.object["metadata"]["labels"] = {"tier": "gold"}
    watcher.see(store, "ADDED")
    watcher.see(store.status(used_by=["b/b", "c/c"]))
    found = _store(watcher)
    assert (found.uid, found.name, found.version) == (
        "store-default",
        "default",
        watcher.last.object["resourceVersion"],
    )
    assert (found.ready, found.driver, found.labels) == (True, "etcd", {"tier": "gold"})
    assert (found.used_by, found.deleting, found.deletion_told) == (("b/b", "c/c"), False, False)
    watcher.see(store.status(ready=False, used_by=["b/b", "c/c"]))
    store.object["metadata"]["deletionTimestamp"] = "2026-12-01T14:30:00Z"
    watcher.see(store.touch())
    found = _store(watcher)
    assert (found.ready, found.deleting, found.deletion_told) == (False, True, True)
    watcher.see(store.touch(), "DELETED")
    assert _recalled(watcher).memories() == {}


def _superseded(watcher: Watcher, tcp: Tcp) -> None:
    _upgrading(watcher, tcp)
    watcher.see(tcp.wants(version="v1.36.0"))


def _cancelled(watcher: Watcher, tcp: Tcp) -> None:
    _upgrading(watcher, tcp)
    watcher.see(tcp.wants(version="v1.34.1"))


def _restored(watcher: Watcher, tcp: Tcp) -> None:
    _limited(watcher, tcp)
    watcher.see(tcp.edit("writePermissions", {}).status("Ready"))


@pytest.mark.parametrize(("live", "targets"), [(_superseded, ["v1.36.0"]), (_cancelled, []), (_restored, [])])
def test_what_has_ended_is_not_open(live: Callable[[Watcher, Tcp], None], targets: list[str]) -> None:
    """However it ended; limits that were restored are none."""
    watcher, tcp = _built()
    live(watcher, tcp)
    found = _tcp(watcher)
    assert [operation.target for operation in found.operations] == targets
    assert not found.limited


def test_a_late_copy_teaches_nothing() -> None:
    """An event that was heard, or one before it."""
    watcher, tcp = _built()
    _fallen(watcher, tcp)
    watcher.see(tcp.status("Ready", ready=2))
    watcher.said += [watcher.find("state.notready")]
    assert _tcp(watcher).ready is True
    watcher.see(tcp.touch(), "DELETED")
    watcher.answer(watcher.looks()[0])
    watcher.wait(5)
    watcher.said += [watcher.last]
    assert _recalled(watcher).memories() == {}


@pytest.mark.parametrize(
    ("word", "ready", "recalled"),
    [("Ready", 2, (True, False)), ("NotReady", 0, (False, False)), ("Upgrading", 2, (None, True))],
)
def test_a_history_that_begins_late_is_judged_by_its_status(
    word: str, ready: int, recalled: tuple[bool | None, bool]
) -> None:
    """Whether it was ready was said before; a word that says neither leaves it open."""
    watcher, tcp = _built()
    watcher.see(tcp.status(word, ready=ready))
    watcher.said.clear()
    watcher.see(tcp.set("metadata/labels", {"tier": "silver"}))
    found = _tcp(watcher)
    assert (found.ready, found.unclear, found.created) == (*recalled, True)


def test_a_version_alone_is_no_creation_that_ended() -> None:
    """Its operation is open still."""
    watcher, tcp = _born()
    watcher.see(tcp.status("NotReady", version="v1.34.1", ready=0))
    watcher.see(tcp.set("status/controlPlaneEndpoint", "10.0.0.1:6443"))
    found = _tcp(watcher)
    assert (found.created, [operation.kind for operation in found.operations]) == (False, ["create"])


def test_a_store_of_a_late_history_has_the_users_that_were_named() -> None:
    """When it was ready or not."""
    store = Store(used_by=["b/b", "a/a"])
    watcher = Watcher(store)
    watcher.see(store.status(ready=False, used_by=["b/b", "a/a"]))
    assert _store(watcher).used_by == ("a/a", "b/b")
