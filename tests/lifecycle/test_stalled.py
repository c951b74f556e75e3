"""Operations that take too long."""

import pytest

from publisher.lifecycle.looks import Found, LookAnswer, LookKind
from publisher.lifecycle.policy import Policy
from tests.support.tcp import Store, Tcp, Watcher


def _reasons(watcher: Watcher) -> list[str]:
    return [blocker["reason"] for blocker in watcher.last.details["blockers"]]


def test_a_creation_names_the_step_it_stands_at() -> None:
    """The first empty block of status, in the order in which Kamaji fills them."""
    watcher, tcp = Watcher(Store()), Tcp()
    watcher.see(tcp, "ADDED")
    assert watcher.wait(599) == []
    assert watcher.wait(2) == ["create.stalled"]
    assert watcher.last.details["stalledAt"] == "controlPlaneEndpoint"
    assert _reasons(watcher) == ["NoEndpoint"]
    assert watcher.wait(3600) == []


def test_a_creation_on_a_missing_store_says_so() -> None:
    """Kamaji does nothing and says nothing then."""
    watcher, tcp = Watcher(), Tcp(store="nowhere")
    watcher.see(tcp, "ADDED")
    tcp.set("status/controlPlaneEndpoint", "10.0.0.1:6443").set("status/kubeadmconfig", {"checksum": "k"})
    for name in ("ca", "frontProxyCA", "sa", "apiServer", "apiServerKubeletClient", "frontProxyClient"):
        tcp.set(f"status/certificates/{name}", {"checksum": "c"})
    for name in ("admin", "controllerManager", "scheduler"):
        tcp.set(f"status/kubeconfig/{name}", {"checksum": "c", "secretName": "s"})
    watcher.see(tcp)
    assert watcher.wait(700) == ["create.stalled"]
    assert watcher.last.details["stalledAt"] == "storage.config"
    assert _reasons(watcher) == ["DataStoreMissing"]


def test_an_upgrade_that_never_starts() -> None:
    """A patch version that is not supported: the operator then does nothing and says nothing."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.wants(version="v1.34.99"))
    assert watcher.wait(900) == ["upgrade.stalled"]
    assert watcher.last.details["stalledAt"] == "requested"
    assert _reasons(watcher) == ["NotStarted"]
    assert watcher.see(tcp.status("Upgrading")) == ["upgrade.started"]
    assert watcher.see(tcp.status("Ready", version="v1.34.99")) == ["upgrade.completed"]


def test_every_blocker_that_can_be_read_is_told() -> None:
    """Paused, the store, the Deployment's conditions."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store(ready=False))
    condition = {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": "none"}
    tcp.set("status/kubernetesResources/deployment/conditions", [condition])
    tcp.set("metadata/annotations", {"kamaji.clastix.io/paused": ""})
    watcher.see(tcp.wants(replicas=3))
    assert watcher.wait(600) == ["scale.stalled"]
    assert _reasons(watcher) == ["Paused", "DataStoreNotReady", "DeploymentCondition"]
    assert "MinimumReplicasUnavailable" in watcher.last.details["blockers"][2]["message"]


def test_a_write_limited_upgrade_says_that_its_end_cannot_be_confirmed() -> None:
    """The version is never written while writes are limited."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.edit("writePermissions/blockUpdate", value=True).status("WriteLimited"))
    watcher.see(tcp.wants(version="v1.35.0").status("Upgrading"))
    watcher.see(tcp.status("WriteLimited"))
    assert watcher.wait(900) == ["upgrade.stalled"]
    assert "WritesLimited" in _reasons(watcher)


def _stuck_migration() -> tuple[Watcher, Tcp]:
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store(), Store("other"))
    watcher.see(tcp.wants(store="other"))
    watcher.see(tcp.status("Migrating", seen=False))
    assert watcher.wait(1800) == []
    return watcher, tcp


def test_a_migration_asks_for_its_job_before_it_stalls() -> None:
    """A failed Job is never looked at by Kamaji: Migrating for ever."""
    watcher, _ = _stuck_migration()
    (look,) = watcher.looks()
    assert look.kind is LookKind.MIGRATE_JOB
    job = Found("Job", "migrate-acme", state="Failed", message="deadline exceeded")
    assert [item.name for item in watcher.fleet.looked(LookAnswer(look, (job,), ("Job",)), watcher.now)] == [
        "migrate.stalled"
    ]
    assert watcher.wait(3600) == []


def test_a_migration_stalls_without_an_answer_too() -> None:
    """Nobody can list Jobs: it is told ten seconds later."""
    watcher, _ = _stuck_migration()
    watcher.looks()
    assert watcher.wait(9) == []
    assert watcher.wait(2) == ["migrate.stalled"]
    assert watcher.wait(3600) == []


@pytest.mark.parametrize(
    ("text", "limit"),
    [("5m", 300), ("1h30m", 5400), ("7200s", 7200), ("", 1800), ("soon", 1800), ("-5m", 1800)],
)
def test_an_objects_own_timeout_of_migrations(text: str, limit: int) -> None:
    """Kamaji goes by its annotation, sooner or later than our setting; what it cannot read is not there."""
    tcp = Tcp().running().set("metadata/annotations", {"kamaji.clastix.io/migration-timeout": text})
    watcher = Watcher(tcp, Store(), Store("other"))
    watcher.see(tcp.wants(store="other"))
    watcher.see(tcp.status("Migrating", seen=False))
    assert watcher.wait(limit - 10) == []
    assert watcher.looks() == []
    watcher.wait(10)
    assert len(watcher.looks()) == 1
    assert watcher.wait(11) == ["migrate.stalled"]


def test_a_timeout_that_comes_later_counts_for_the_migration_that_is_open() -> None:
    """Somebody gives it more time, as Kamaji's next Job would have."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store(), Store("other"))
    watcher.see(tcp.wants(store="other"))
    assert watcher.wait(1700) == []
    watcher.see(tcp.set("metadata/annotations", {"kamaji.clastix.io/migration-timeout": "1h"}))
    assert watcher.wait(1800) == []
    assert watcher.looks() == []
    watcher.wait(110)
    assert len(watcher.looks()) == 1
    assert watcher.wait(11) == ["migrate.stalled"]


def test_a_deletion_names_the_finalizers_that_are_left() -> None:
    """And says that it is paused: Kamaji does not clean up then."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.set("metadata/annotations", {"kamaji.clastix.io/paused": ""}))
    watcher.see(tcp.delete())
    assert watcher.wait(300) == ["delete.stalled"]
    assert _reasons(watcher) == ["Paused", "FinalizersLeft"]
    assert watcher.last.details["stalledAt"] == "started"


@pytest.mark.parametrize("kind", ["scale", "sleep", "wake"])
def test_limits_are_configured(kind: str) -> None:
    """Each operation has its own."""
    tcp = Tcp(replicas=0 if kind == "wake" else 2).running(replicas=0 if kind == "wake" else 2)
    watcher = Watcher(tcp, policy=Policy(limits={kind: 5.0}))
    watcher.see(tcp.wants(replicas={"scale": 3, "sleep": 0, "wake": 2}[kind]))
    assert watcher.wait(5) == [f"{kind}.stalled"]


def test_a_rotation_stalls() -> None:
    """The new CA is there and nothing serves with it."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.set("status/certificates/ca/checksum", "ca-2").status("CertificateAuthorityRotating"))
    assert watcher.wait(600) == ["rotation.stalled"]
