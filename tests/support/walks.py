"""Random lives of a TenantControlPlane, as an operator could write them."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.support.tcp import Tcp

__all__ = ["DECISIVE", "Step", "apply", "lives", "wild_lives"]

DECISIVE = frozenset({"Ready", "NotReady", "Sleeping"})

_VERSIONS = ("v1.34.1", "v1.35.0", "v1.36.0")
_STORES = ("default", "other")
_QUIET_WORDS = ("Unknown", "Upgrading", "Migrating", "Provisioning", "CertificateAuthorityRotating", "Dreaming")
_NULLS = (
    "status",
    "status/kubernetesResources",
    "status/kubernetesResources/version",
    "status/kubernetesResources/deployment",
    "status/storage",
    "status/certificates",
    "status/kubeconfig",
    "spec/controlPlane",
)


@dataclass(frozen=True)
class Step:
    """One write."""

    kind: str
    value: Any = None
    ready: int = 0
    exist: int = 0
    seen: bool = True


_EDITS = (
    st.builds(Step, st.just("version"), st.sampled_from(_VERSIONS)),
    st.builds(Step, st.just("store"), st.sampled_from(_STORES)),
    st.builds(Step, st.just("replicas"), st.integers(0, 3)),
    st.builds(Step, st.just("port"), st.integers(6443, 6445)),
)
_STATUS = (
    st.builds(Step, st.just("ready"), st.booleans(), st.integers(1, 3), st.integers(0, 1), st.booleans()),
    st.builds(Step, st.just("notready"), exist=st.integers(0, 3), seen=st.booleans()),
    st.builds(Step, st.just("sleeping"), seen=st.booleans()),
    st.builds(
        Step, st.just("word"), st.sampled_from(_QUIET_WORDS), st.integers(0, 3), st.integers(0, 2), st.booleans()
    ),
)
_MOVES = (
    st.builds(Step, st.just("ca"), st.integers(1, 4)),
    st.builds(Step, st.just("kubeconfig"), st.integers(1, 4)),
    st.builds(Step, st.just("store-in-status"), st.sampled_from(_STORES)),
    st.builds(Step, st.just("pause"), st.booleans()),
    st.builds(Step, st.just("limits"), st.booleans()),
)
_WILD = (
    st.builds(Step, st.just("null"), st.sampled_from(_NULLS)),
    st.builds(Step, st.just("anything"), st.sampled_from(_VERSIONS), st.integers(0, 3), st.integers(0, 3)),
    st.builds(Step, st.just("limited"), ready=st.integers(0, 2)),
)


_READY = Step("ready", value=True, ready=2)
_DOWN = Step("notready", exist=2)
_CHAPTERS = (
    [_READY],
    [_READY, _DOWN],
    [_DOWN],
    [Step("version", "v1.35.0"), Step("word", "Upgrading", ready=2), _READY],
    [Step("version", "v1.36.0"), _DOWN],
    [Step("replicas", 0), Step("sleeping")],
    [Step("replicas", 2), _READY],
    [Step("replicas", 3), Step("ready", value=True, ready=3)],
    [Step("store", "other"), Step("word", "Migrating", ready=2), Step("store-in-status", "other"), _READY],
    [Step("ca", 2), Step("word", "CertificateAuthorityRotating", ready=2), _READY],
)
"""What often happens, so that rare meetings of it happen here too."""


def _chapters(*kinds: st.SearchStrategy[Step], more: st.SearchStrategy[list[Step]]) -> st.SearchStrategy[list[Step]]:
    chapter = st.one_of(st.sampled_from(_CHAPTERS), st.one_of(*kinds).map(lambda step: [step]), more)
    return st.lists(chapter, max_size=10).map(lambda chapters: [step for steps in chapters for step in steps])


def lives() -> st.SearchStrategy[list[Step]]:
    """Lives in which a version is only written in status when the control plane serves or sleeps, as Kamaji does."""
    return _chapters(*_EDITS, *_STATUS, *_MOVES, more=st.nothing())


def wild_lives() -> st.SearchStrategy[list[Step]]:
    """Lives in which anything can stand anywhere, and nothing too."""
    back_and_forth = st.just([Step("anything", version, 2, 2) for version in ("v1.35.0", "v1.34.1", "v1.35.0")])
    return _chapters(*_EDITS, *_STATUS, *_MOVES, *_WILD, more=back_and_forth)


def apply(tcp: Tcp, step: Step) -> Tcp:  # noqa: C901, PLR0912 - one case for each kind of write
    """Write one step into the object."""
    wanted = tcp.object["spec"].get("kubernetes", {}).get("version", "v1.34.1")
    match step.kind:
        case "version":
            tcp.wants(version=step.value)
        case "store":
            tcp.wants(store=step.value)
        case "replicas":
            tcp.edit("controlPlane", {"deployment": {"replicas": step.value}})
        case "port":
            tcp.edit("networkProfile/port", step.value)
        case "ready":
            version = wanted if step.value else None
            tcp.status("Ready", version=version, ready=step.ready, exist=step.ready + step.exist, seen=step.seen)
        case "notready":
            tcp.status("NotReady", ready=0, exist=step.exist, seen=step.seen)
        case "sleeping":
            if (tcp.object["spec"].get("controlPlane") or {}).get("deployment", {}).get("replicas") == 0:
                tcp.status("Sleeping", version=wanted, ready=0, seen=step.seen)
        case "word":
            tcp.status(step.value, ready=step.ready, exist=step.ready + step.exist, seen=step.seen)
        case "ca":
            tcp.set("status/certificates/ca", {"checksum": f"ca-{step.value}"})
        case "kubeconfig":
            tcp.set("status/kubeconfig/admin", {"checksum": f"kube-{step.value}", "secretName": "acme-admin"})
        case "store-in-status":
            tcp.set("status/storage", {"dataStoreName": step.value})
        case "pause":
            tcp.set("metadata/annotations", {"kamaji.clastix.io/paused": ""} if step.value else {})
        case "limits":
            tcp.edit("writePermissions", {"blockUpdate": step.value})
        case "null":
            _nullify(tcp, step.value)
        case "anything":
            tcp.status("Upgrading", version=step.value, ready=step.ready, exist=step.exist)
        case "limited":
            tcp.status("WriteLimited", ready=step.ready)
    return tcp.touch()


def _nullify(tcp: Tcp, path: str) -> None:
    *parents, last = path.split("/")
    place = tcp.object
    for name in parents:
        if not isinstance(place.get(name), dict):
            return
        place = place[name]
    place.pop(last, None)
