"""What events say beside their names: why, what changed from what to what, who asked, and when."""

from collections.abc import Callable
from typing import Any

import pytest

from publisher.lifecycle.decision import Decision
from tests.support.tcp import START, Tcp, Watcher

_PAUSED = "kamaji.clastix.io/paused"
_REPLICAS = "spec.controlPlane.deployment.replicas"
_WORD = "status.kubernetesResources.version.status"
_CA = "status/certificates/ca/checksum"
_PATHS = (
    ("metadata", "name"),
    ("metadata", "labels", "tier"),
    ("metadata", "labels", "example.com/team"),
    ("metadata", "annotations", _PAUSED),
    ("spec", "kubernetes", "version"),
    ("spec", "dataStore"),
    ("spec", "controlPlane", "deployment", "replicas"),
    ("spec", "writePermissions"),
    ("spec", "networkProfile", "port"),
)


def _managed(tcp: Tcp) -> Tcp:
    """Each path has a manager that is called like it; who wrote last owns nothing of them."""
    entries: list[dict[str, Any]] = [{"manager": "nobody", "time": "2026-12-01T14:59:00Z", "fieldsV1": {}}]
    for path in _PATHS:
        fields: dict[str, Any] = {}
        for word in reversed(path):
            fields = {f"f:{word}": fields}
        entries.append({"manager": ".".join(path), "time": "2026-12-01T14:00:00Z", "fieldsV1": fields})
    return tcp.set("metadata/managedFields", entries)


def _running(replicas: int = 2) -> tuple[Watcher, Tcp]:
    tcp = _managed(Tcp(replicas=replicas)).running(replicas=replicas)
    return Watcher(tcp), tcp


def _why(said: list[Decision]) -> list[tuple[str, str]]:
    return [(item.name, item.reason[0] if item.reason else "") for item in said]


def _creation() -> Watcher:
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.status("Ready", version="v1.34.1", ready=2))
    return watcher


def _creation_asleep() -> Watcher:
    watcher, tcp = Watcher(), Tcp(replicas=0)
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.status("Sleeping", version="v1.34.1", ready=0))
    return watcher


def _creation_cancelled() -> Watcher:
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.delete())
    return watcher


def _upgrades() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.see(tcp.wants(version="v1.36.0"))
    watcher.see(tcp.wants(version="v1.34.1"))
    watcher.see(tcp.wants(version="v1.35.0").status("Upgrading"))
    watcher.see(tcp.status("Ready", version="v1.35.0"))
    return watcher


def _migration() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.wants(store="other").status("Migrating"))
    watcher.see(tcp.status("Ready", store="other"))
    return watcher


def _numbers() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=3))
    watcher.see(tcp.wants(replicas=4))
    watcher.see(tcp.status("Ready", ready=4))
    watcher.see(tcp.wants(replicas=0))
    watcher.see(tcp.status("Sleeping", ready=0))
    watcher.see(tcp.wants(replicas=2))
    watcher.see(tcp.status("Ready", ready=2))
    return watcher


def _rotations() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.set(_CA, "ca-2").status("CertificateAuthorityRotating"))
    watcher.see(tcp.set(_CA, "ca-3"))
    watcher.see(tcp.status("Ready"))
    return watcher


def _vanished() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=3))
    watcher.see(tcp.touch(), "DELETED")
    return watcher


def _troubles() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.status("Unknown", ready=1, exist=2))
    watcher.see(tcp.status("Ready", ready=2))
    watcher.see(tcp.status("NotReady", ready=0, exist=2))
    watcher.wait(60)
    watcher.see(tcp.status("Ready", ready=2))
    return watcher


def _settings() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.edit("writePermissions/blockCreation", value=True).status("WriteLimited"))
    watcher.see(tcp.edit("writePermissions", {}).status("Ready"))
    watcher.see(tcp.set("metadata/annotations", {_PAUSED: ""}))
    watcher.see(tcp.set("metadata/annotations", {}))
    watcher.see(tcp.set("metadata/labels", {"tier": "silver"}))
    watcher.see(tcp.edit("networkProfile/port", 7443))
    watcher.see(tcp.set("status/addons", {"coreDNS": {"enabled": True}}))
    watcher.see(tcp.set("status/addons/coreDNS/enabled", value=False))
    return watcher


def _material() -> Watcher:
    watcher, tcp = _running()
    watcher.see(tcp.set("status/controlPlaneEndpoint", "10.0.0.2:6443"))
    watcher.see(tcp.set("status/kubeconfig/admin/checksum", "kube-2"))
    watcher.see(tcp.set("status/certificates/apiServer/checksum", "api-2"))
    watcher.see(tcp.set("status/storage/config/checksum", "config-2"))
    watcher.see(tcp.set("status/kubeadmPhase/bootstrapToken/checksum", "token-1"))
    watcher.see(tcp.set("metadata/annotations", {"kamaji.clastix.io/soot": "failed"}))
    watcher.wait(10)
    return watcher


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (
            _creation,
            [("create.started", "Created"), ("create.completed", "Serving"), ("state.ready", "Serving")],
        ),
        (_creation_asleep, [("create.started", "Created"), ("create.completed", "Asleep")]),
        (
            _creation_cancelled,
            [("create.started", "Created"), ("create.cancelled", "Deleted"), ("delete.started", "DeletionRequested")],
        ),
        (
            _upgrades,
            [
                ("upgrade.requested", "VersionRequested"),
                ("upgrade.superseded", "AnotherTarget"),
                ("upgrade.requested", "VersionRequested"),
                ("upgrade.cancelled", "TakenBack"),
                ("upgrade.requested", "VersionRequested"),
                ("upgrade.started", "Upgrading"),
                ("upgrade.completed", "VersionReached"),
            ],
        ),
        (
            _migration,
            [
                ("migrate.requested", "DataStoreRequested"),
                ("migrate.started", "Migrating"),
                ("migrate.completed", "Migrated"),
            ],
        ),
        (
            _numbers,
            [
                ("scale.started", "ReplicasRequested"),
                ("scale.superseded", "AnotherNumber"),
                ("scale.started", "ReplicasRequested"),
                ("scale.completed", "Scaled"),
                ("sleep.started", "SleepRequested"),
                ("sleep.completed", "Asleep"),
                ("state.notready", "Sleeping"),
                ("wake.started", "WakeRequested"),
                ("wake.completed", "Serving"),
                ("state.ready", "Serving"),
            ],
        ),
        (
            _rotations,
            [
                ("rotation.started", "CertificateAuthorityMoved"),
                ("rotation.cancelled", "MovedAgain"),
                ("rotation.started", "CertificateAuthorityMoved"),
                ("rotation.completed", "Serving"),
            ],
        ),
        (
            _vanished,
            [
                ("scale.started", "ReplicasRequested"),
                ("scale.cancelled", "Deleted"),
                ("delete.started", "DeletionRequested"),
                ("delete.finalized", "ObjectGone"),
            ],
        ),
        (
            _troubles,
            [
                ("state.degraded", "ReplicasMissing"),
                ("state.recovered", "ReplicasComplete"),
                ("state.notready", "Unavailable"),
                ("outage.started", "Unavailable"),
                ("state.ready", "Serving"),
                ("outage.ended", "Serving"),
            ],
        ),
        (
            _settings,
            [
                ("writes.limited", "WritesLimited"),
                ("writes.restored", "WritesRestored"),
                ("state.paused", "Paused"),
                ("state.resumed", "Resumed"),
                ("labels.changed", "LabelsChanged"),
                ("spec.changed", "SpecEdited"),
                ("addons.changed", "AddonsChanged"),
            ],
        ),
        (
            _material,
            [
                ("endpoint.changed", "EndpointChanged"),
                ("kubeconfig.rotated", "ChecksumMoved"),
                ("certificates.rotated", "ChecksumMoved"),
                ("credentials.rotated", "ChecksumMoved"),
                ("bootstrap.completed", "Bootstrapped"),
                ("bootstrap.failed", "SootFailed"),
            ],
        ),
    ],
)
def test_each_event_says_why_in_one_word(live: Callable[[], Watcher], said: list[tuple[str, str]]) -> None:
    """Subscribers filter by the word, so it is as fixed as the name."""
    assert _why(live().said) == said


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (_creation, [None, None, (_WORD, None, "Ready")]),
        (
            _upgrades,
            [
                ("spec.kubernetes.version", "v1.34.1", "v1.35.0"),
                None,
                ("spec.kubernetes.version", "v1.34.1", "v1.36.0"),
                None,
                ("spec.kubernetes.version", "v1.34.1", "v1.35.0"),
                None,
                None,
            ],
        ),
        (_migration, [("spec.dataStore", "default", "other"), None, None]),
        (
            _numbers,
            [
                (_REPLICAS, 2, 3),
                None,
                (_REPLICAS, 3, 4),
                None,
                (_REPLICAS, 4, 0),
                None,
                (_WORD, "Ready", "Sleeping"),
                (_REPLICAS, 0, 2),
                None,
                (_WORD, "Sleeping", "Ready"),
            ],
        ),
        (_material, [("status.controlPlaneEndpoint", "10.0.0.1:6443", "10.0.0.2:6443"), *[None] * 5]),
    ],
)
def test_a_change_names_its_field_and_both_values(live: Callable[[], Watcher], said: list[Any]) -> None:
    """At the step with which somebody asked, and where a field of status moved."""
    assert [item.change for item in live().said] == said


@pytest.mark.parametrize(
    ("live", "names"),
    [
        (_upgrades, {"upgrade.requested": "spec.kubernetes.version"}),
        (_migration, {"migrate.requested": "spec.dataStore"}),
        (_numbers, dict.fromkeys(("scale.started", "sleep.started", "wake.started"), _REPLICAS)),
        (
            _settings,
            {
                "writes.limited": "spec.writePermissions",
                "writes.restored": "spec.writePermissions",
                "state.paused": f"metadata.annotations.{_PAUSED}",
                "state.resumed": f"metadata.annotations.{_PAUSED}",
                "labels.changed": "metadata.labels.tier",
                "spec.changed": "spec.networkProfile.port",
            },
        ),
    ],
)
def test_the_actor_is_who_manages_the_field(live: Callable[[], Watcher], names: dict[str, str]) -> None:
    """Not who wrote last; what nobody asked for has none."""
    found = {item.name: item.actor.manager for item in live().said if item.actor}
    assert found == names


def test_a_creation_has_an_actor() -> None:
    """Whoever manages the name, or wrote last."""
    watcher = Watcher()
    watcher.see(_managed(Tcp()), "ADDED")
    assert watcher.last.actor is not None
    assert watcher.last.actor.manager == "metadata.name"


def test_a_label_with_dots_in_its_name_has_its_actor() -> None:
    """The dots of a key are no steps of the path."""
    watcher, tcp = _running()
    watcher.see(tcp.set("metadata/labels", {"tier": "gold", "example.com/team": "a"}))
    assert watcher.last.actor is not None
    assert watcher.last.actor.manager == "metadata.labels.example.com/team"


def test_only_moved_labels_are_asked_about() -> None:
    """In their order; what came and what went count too."""
    watcher, tcp = _running()
    watcher.see(tcp.set("metadata/labels", {"tier": "gold", "b": "1", "a": "1", "c": "1"}))
    watcher.see(tcp.set("metadata/labels", {"tier": "gold", "c": "2", "b": "1"}))
    reasons = [item.reason[1] for item in watcher.said if item.reason]
    assert reasons == ["Moved: a, b, c.", "Moved: a, c."]


def test_steps_that_nobody_saw_have_the_time_of_their_end() -> None:
    """A start that was skipped is when the end was seen; a request is when it was seen."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(version="v1.35.0"), after=10.0)
    watcher.see(tcp.status("Ready", version="v1.35.0"), after=10.0)
    facts = watcher.last.operation
    assert facts is not None
    assert (facts.requested_at, facts.started_at, facts.ended_at) == (START + 11, START + 21, START + 21)


def test_a_creation_has_started_when_the_object_was_created() -> None:
    """As its creationTimestamp says; a deletion when its deletionTimestamp says."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED", after=100.0)
    watcher.see(tcp.delete(), after=100.0)
    assert [(item.name, item.seconds) for item in watcher.said] == [
        ("create.started", START),
        ("create.cancelled", watcher.now),
        ("delete.started", START + 1800),
    ]


def test_access_points_are_told_whole() -> None:
    """Alone they are an endpoint; the field of the service does not move then."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    point = {"value": "a.example", "port": 443, "urls": ["https://a.example"]}
    watcher.see(tcp.set("status/kubernetesResources/gateway/accessPoints", [point]))
    assert watcher.last.change is None
    assert watcher.last.reason == ("EndpointAssigned", "The endpoint is a.example.")
    assert watcher.last.details["accessPoints"] == [point]
    watcher.see(tcp.set("status/controlPlaneEndpoint", "10.0.0.1:6443"))
    assert watcher.last.change == ("status.controlPlaneEndpoint", None, "10.0.0.1:6443")


def test_an_available_kubeconfig_names_its_secret() -> None:
    """None before it."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.set("status/kubeconfig/admin", {"checksum": "kube-1", "secretName": "acme-admin"}))
    assert watcher.last.change == ("status.kubeconfig.admin.secretName", None, "acme-admin")
    assert watcher.last.reason is not None
    assert watcher.last.reason[0] == "SecretWritten"


def test_an_outage_lasts_for_milliseconds_too() -> None:
    """Its length is told to three digits, and the next one counts anew."""
    watcher, tcp = _running()
    watcher.see(tcp.status("NotReady", ready=0))
    watcher.wait(60)
    watcher.see(tcp.status("Ready", ready=2), after=1.23456)
    assert watcher.last.details == {"durationSeconds": 61.235, "flips": 1}
    watcher.see(tcp.status("NotReady", ready=0))
    watcher.wait(60)
    watcher.see(tcp.status("Ready", ready=2))
    assert watcher.last.details == {"durationSeconds": 61.0, "flips": 1}
