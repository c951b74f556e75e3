"""Where a loop begins and ends, and a bootstrap that fails: the numbers of the contract."""

import pytest

from publisher.lifecycle.policy import Policy
from tests.support.tcp import Tcp, Watcher

_SOOT = {"kamaji.clastix.io/soot": "failed"}
_TOKEN = "status/kubeadmPhase/bootstrapToken/checksum"


def _running() -> tuple[Watcher, Tcp]:
    tcp = Tcp().running()
    return Watcher(tcp), tcp


@pytest.mark.parametrize(
    ("path", "kind", "needed"),
    [
        ("status/kubernetesResources/version/status", "status", 10),
        ("status/kubernetesResources/deployment/observedGeneration", "deployment", 5),
        ("status/kubeconfig/admin/checksum", "kubeconfig", 10),
        ("status/storage/config/checksum", "credentials", 10),
        ("status/certificates/apiServer/checksum", "certificate:apiServer", 5),
    ],
)
@pytest.mark.parametrize("span", [59.9, 60.1])
def test_so_many_changes_within_a_minute_are_a_loop(path: str, kind: str, needed: int, span: float) -> None:
    """One change fewer is none, nor are they when the first is a minute old."""
    watcher, tcp = _running()

    def change(number: int, after: float) -> bool:
        value = number + 10 if kind == "deployment" else f"Word{number}"
        return "state.looping" in watcher.see(tcp.set(path, value), after=after)

    assert not any(change(number, 0.001) for number in range(needed - 1))
    assert change(needed, span - 0.001 * (needed - 2)) is (span < 60)
    if span < 60:
        assert watcher.find("state.looping").details["loop"] == {"kinds": [kind], "changes": needed}
        assert watcher.find("state.looping").reason is not None
        change(needed + 1, 1.50144)
        assert watcher.wait(119.9) == []
        assert watcher.wait(0.1) == ["state.settled"]
        assert watcher.last.reason is not None
        assert watcher.last.reason[0] == "Quiet"
        assert watcher.last.details["loop"] == {"kinds": [kind], "changes": 1}
        assert watcher.last.details["durationSeconds"] == 121.501


@pytest.mark.parametrize(
    ("path", "event"),
    [
        ("status/kubeconfig/admin/checksum", "kubeconfig.rotated"),
        ("status/storage/config/checksum", "credentials.rotated"),
    ],
)
def test_what_loops_is_counted_and_not_told(path: str, event: str) -> None:
    """Nine are told; the tenth is the loop."""
    watcher, tcp = _running()
    said = [name for number in range(2, 30) for name in watcher.see(tcp.set(path, f"sum-{number}"))]
    assert said == [*[event] * 9, "state.looping"]


def test_an_edit_does_not_end_a_loop_that_was_told() -> None:
    """It settles as it would have; the count of others begins anew."""
    watcher, tcp = _running()
    for number in range(2, 8):
        watcher.see(tcp.set("status/certificates/apiServer/checksum", f"api-{number}"))
    assert watcher.said[-1].name == "state.looping"
    watcher.see(tcp.edit("networkProfile/port", 7443))
    assert watcher.see(tcp.set("status/certificates/apiServer/checksum", "api-9")) == []
    assert watcher.wait(120) == ["state.settled"]


def test_an_edit_forgets_what_was_counted() -> None:
    """The changes before it do not add up with those after it."""
    watcher, tcp = _running()
    for number in range(2, 6):
        watcher.see(tcp.status("Unknown", ready=2, rollout=number))
    watcher.see(tcp.edit("networkProfile/port", 7443))
    for number in range(6, 10):
        assert watcher.see(tcp.status("Unknown", ready=2, rollout=number)) == []
    assert watcher.see(tcp.status("Unknown", ready=2, rollout=10)) == ["state.looping"]


def test_a_failed_bootstrap_stands_for_ten_seconds_or_fails_three_times() -> None:
    """Not before, and once."""
    watcher, tcp = _running()
    watcher.see(tcp.set("metadata/annotations", _SOOT))
    assert watcher.wait(9.9) == []
    assert watcher.wait(0.1) == ["bootstrap.failed"]
    watcher, tcp = _running()
    said = []
    for _ in range(3):
        watcher.see(tcp.set("metadata/annotations", {}))
        said.append(watcher.see(tcp.set("metadata/annotations", _SOOT)))
    assert said == [[], [], ["bootstrap.failed"]]
    assert watcher.wait(600) == []


def test_a_bootstrap_that_completed_may_fail_anew() -> None:
    """Its tries are counted from nothing, and it is told again."""
    watcher, tcp = _running()
    watcher.see(tcp.set("metadata/annotations", _SOOT))
    assert watcher.wait(10) == ["bootstrap.failed"]
    assert watcher.see(tcp.set("metadata/annotations", {}).set(_TOKEN, "token-1")) == ["bootstrap.completed"]
    assert watcher.see(tcp.set("metadata/annotations", _SOOT)) == []
    watcher.see(tcp.set("metadata/annotations", {}))
    assert watcher.see(tcp.set("metadata/annotations", _SOOT)) == []
    watcher.see(tcp.set("metadata/annotations", {}))
    assert watcher.see(tcp.set("metadata/annotations", _SOOT)) == ["bootstrap.failed"]


def test_an_edit_forgets_what_was_counted_beside_a_loop_too() -> None:
    """Another kind joins a loop only by changes that nobody asked for."""
    watcher, tcp = _running()
    for number in range(2, 7):
        watcher.see(tcp.set("status/certificates/apiServer/checksum", f"api-{number}"))
    for number in range(2, 6):
        watcher.see(tcp.status("Ready", ready=2, rollout=number))
    watcher.see(tcp.edit("networkProfile/port", 7443))
    watcher.see(tcp.status("Ready", ready=2, rollout=6))
    assert watcher.wait(150) == ["state.settled"]
    assert watcher.last.details["loop"]["kinds"] == ["certificate:apiServer"]


def test_a_bootstrap_that_completed_under_its_mark_has_not_failed_again() -> None:
    """The mark was told; it is a new one that would be."""
    watcher, tcp = _running()
    watcher.see(tcp.set("metadata/annotations", _SOOT))
    assert watcher.wait(10) == ["bootstrap.failed"]
    assert watcher.see(tcp.set(_TOKEN, "token-1")) == ["bootstrap.completed"]
    assert watcher.wait(600) == []


def test_a_mark_is_judged_by_its_own_clock() -> None:
    """Another one that strikes before says nothing of it."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, policy=Policy(limits={"scale": 5.0}))
    watcher.see(tcp.wants(replicas=3).set("metadata/annotations", _SOOT))
    assert watcher.wait(6) == ["scale.stalled"]
    assert watcher.wait(4) == ["bootstrap.failed"]
