"""The baseline starts every state from what is seen, and what compares finds has its own time."""

import pytest

from tests.support.tcp import START, Store, Tcp, Watcher

_LATER = "2026-12-01T14:10:00Z"


def test_limits_found_are_not_told_but_their_end_is() -> None:
    """Limited before anybody watched."""
    tcp = Tcp().running().edit("writePermissions/blockUpdate", value=True).status("WriteLimited")
    watcher = Watcher(tcp)
    assert watcher.see(tcp.touch()) == []
    assert watcher.see(tcp.edit("writePermissions", None).status("Ready")) == ["writes.restored"]


def test_limits_that_are_not_enforced_yet_are_told_when_they_are() -> None:
    """Asked for before, enforced after the baseline."""
    tcp = Tcp().running().edit("writePermissions/blockUpdate", value=True)
    watcher = Watcher(tcp)
    assert watcher.see(tcp.status("WriteLimited")) == ["writes.limited"]


@pytest.mark.parametrize("path", ["status/controlPlaneEndpoint", "status/kubernetesResources/gateway/accessPoints"])
def test_an_endpoint_found_can_only_change(path: str) -> None:
    """By address or by access point."""
    tcp = Tcp().running()
    if path.endswith("accessPoints"):
        tcp.set("status/controlPlaneEndpoint", None).set(path, [{"value": "a.example", "port": 443}])
    watcher = Watcher(tcp)
    value = [{"value": "b.example", "port": 443}] if path.endswith("accessPoints") else "10.0.0.9:6443"
    assert watcher.see(tcp.set(path, value)) == ["endpoint.changed"]


def test_degraded_found_is_not_told_but_recovered_is() -> None:
    """A pod was lost before anybody watched."""
    tcp = Tcp().running().status("Ready", ready=1, exist=2)
    watcher = Watcher(tcp)
    assert watcher.see(tcp.touch()) == []
    assert watcher.see(tcp.status("Ready", ready=2)) == ["state.recovered"]


@pytest.mark.parametrize(
    ("tcp", "end", "said"),
    [
        (
            Tcp().running().wants(replicas=0),
            lambda tcp: tcp.status("Sleeping", ready=0),
            ["sleep.started", "sleep.completed", "state.notready"],
        ),
        (
            Tcp(replicas=0).running(replicas=0).status("Sleeping", ready=0).wants(replicas=2),
            lambda tcp: tcp.status("Ready", ready=2),
            ["wake.started", "wake.completed", "state.ready"],
        ),
        (
            Tcp().running().status("CertificateAuthorityRotating"),
            lambda tcp: tcp.status("Ready"),
            ["rotation.started", "rotation.completed", "state.ready"],
        ),
    ],
)
def test_an_operation_found_open_ends_with_what_it_skipped(tcp: Tcp, end, said: list[str]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Falling asleep, waking, rotating."""
    watcher = Watcher(tcp)
    assert watcher.at_baseline == []
    assert watcher.see(end(tcp)) == said


def test_a_creation_found_open_began_when_the_object_says() -> None:
    """Its creationTimestamp, not the baseline."""
    tcp = Tcp()
    watcher = Watcher(tcp)
    watcher.see(tcp.running(), after=100.0)
    assert watcher.find("create.started").seconds == START
    assert watcher.find("create.completed").seconds == START + 101.0


def test_a_fall_found_by_comparing_has_the_deployments_time() -> None:
    """As far as the object tells; what is watched has the time of its sight."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    tcp.status("NotReady", ready=0)
    condition = {"type": "Available", "status": "False", "lastTransitionTime": _LATER}
    watcher.relist(tcp.set("status/kubernetesResources/deployment/conditions", [condition]), after=3600.0)
    fall = watcher.find("state.notready")
    assert fall.seconds == START + 600.0
    assert fall.change == ("status.kubernetesResources.version.status", "Ready", "NotReady")
    watcher.see(tcp.status("Ready", ready=2))
    assert watcher.last.seconds == watcher.now


def test_a_word_that_did_not_move_is_no_change() -> None:
    """Ready with no replica ready."""
    tcp = Tcp().running()
    watcher = Watcher(tcp)
    watcher.see(tcp.status("Ready", ready=0))
    assert watcher.find("state.notready").change is None


def test_the_end_of_everything_concludes_what_only_waits() -> None:
    """Nobody will tell whether the DataStore lets go; what is left stays open."""
    tcp, other = Tcp().running(), Tcp("other").running()
    watcher = Watcher(tcp, other, Store(used_by=["tenants/acme"]))
    for item in (tcp, other):
        watcher.see(item.delete())
        watcher.see(item.touch(), "DELETED")
    first = next(look for look in watcher.looks() if look.uid == tcp.uid)
    assert watcher.answer(first) == []
    assert [item.uid for item in watcher.fleet.finish(watcher.now)] == [tcp.uid]
