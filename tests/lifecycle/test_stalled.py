"""Operations that take too long."""

import pytest

from publisher.lifecycle.looks import Found, LookAnswer, LookKind
from publisher.lifecycle.memory import OpenOperation, TcpMemory
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.stalled import ask_for_job, stalled_due
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


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Found("Job", "m", state="Failed", message="late"), "migrate Job m is Failed: late"),
        (Found("Job", "m", state="Failed"), "migrate Job m is Failed"),
        (Found("Job", "m"), "migrate Job m is of unknown state"),
    ],
)
def test_a_stalled_migration_tells_its_job(found: Found, said: str) -> None:
    """Its state, and its message where it has one; the sentence of the event repeats it."""
    watcher, _ = _stuck_migration()
    (look,) = watcher.looks()
    (told,) = watcher.fleet.looked(LookAnswer(look, (found,), ("Job",)), watcher.now)
    assert told.details["blockers"] == [{"reason": "MigrateJob", "message": said}]
    assert told.reason == ("Stalled", f"Open for more than 1800 s, at started: {said}.")


def test_a_stall_with_no_sign_says_so() -> None:
    """Nothing that can be read says why."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.wants(replicas=3))
    assert watcher.wait(600) == ["scale.stalled"]
    assert watcher.last.details["blockers"] == []
    assert watcher.last.reason == (
        "Stalled",
        "Open for more than 600 s, at started: nothing that can be read says why.",
    )


def test_a_creation_whose_version_is_known_stands_at_its_deployment() -> None:
    """It is built and does not serve."""
    watcher, tcp = Watcher(Store()), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.status("NotReady", version="v1.34.1", ready=0))
    assert watcher.wait(700) == ["create.stalled"]
    assert watcher.last.details["stalledAt"] == "deployment"


def test_an_operation_is_held_up_only_by_what_concerns_it() -> None:
    """Writes that are limited a version, another store a migration."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store(), policy=Policy(limits=dict.fromkeys(("upgrade", "migrate", "scale"), 100.0)))
    watcher.see(tcp.edit("writePermissions/blockUpdate", value=True).status("WriteLimited"))
    watcher.see(tcp.wants(replicas=3), after=0.0)
    watcher.see(tcp.wants(store="other"), after=0.0)
    watcher.see(tcp.wants(version="v1.35.0"), after=0.0)
    assert watcher.wait(120) == ["upgrade.stalled", "scale.stalled"]
    watcher.looks()
    assert watcher.wait(10) == ["migrate.stalled"]
    told = {item.name: [blocker["reason"] for blocker in item.details["blockers"]] for item in watcher.said[-3:]}
    assert told == {
        "upgrade.stalled": ["NotStarted", "WritesLimited"],
        "scale.stalled": [],
        "migrate.stalled": ["NotStarted", "DataStoreMissing"],
    }


def test_operations_that_stall_in_one_moment_are_told_in_the_order_of_the_table() -> None:
    """Not in that in which they opened."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store(), policy=Policy(limits={"upgrade": 100.0, "scale": 100.0}))
    watcher.see(tcp.wants(replicas=3))
    watcher.see(tcp.wants(version="v1.35.0"), after=0.0)
    assert watcher.wait(120) == ["upgrade.stalled", "scale.stalled"]


@pytest.mark.parametrize(("word", "reasons"), [("Unknown", ["NotStarted"]), ("Upgrading", [])])
def test_only_what_has_not_started_is_said_not_to_have(word: str, reasons: list[str]) -> None:
    """The operator's word is its start."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.wants(version="v1.35.0").status(word))
    assert watcher.wait(900) == ["upgrade.stalled"]
    assert _reasons(watcher) == reasons


def test_a_second_migration_asks_for_its_own_job() -> None:
    """The question is asked once for each, not before its time, and never once it was told."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store(), Store("other"), Store("third"))
    watcher.see(tcp.wants(store="other").status("Migrating"))
    assert watcher.wait(1799) == []
    assert watcher.looks() == []
    watcher.wait(1)
    assert [look.kind for look in watcher.looks()] == [LookKind.MIGRATE_JOB]
    assert watcher.wait(10) == ["migrate.stalled"]
    assert watcher.looks() == []
    watcher.see(tcp.wants(store="third"))
    assert watcher.wait(1799) == []
    assert watcher.looks() == []
    watcher.wait(1)
    assert [look.kind for look in watcher.looks()] == [LookKind.MIGRATE_JOB]
    assert watcher.wait(9) == []
    assert watcher.wait(1) == ["migrate.stalled"]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"reason": "R", "message": "m"}, "Deployment Available=False (R: m)"),
        ({"message": "m"}, "Deployment Available=False (m)"),
        ({}, "Deployment Available=False"),
    ],
)
def test_a_condition_is_told_with_what_it_says(condition: dict[str, str], said: str) -> None:
    """Reason and message, where it has them."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    condition = {"type": "Available", "status": "False"} | condition
    watcher.see(tcp.wants(replicas=3).set("status/kubernetesResources/deployment/conditions", [condition]))
    watcher.wait(600)
    assert watcher.last.details["blockers"] == [{"reason": "DeploymentCondition", "message": said}]


def test_a_deletion_names_its_store_and_nothing_of_what_runs() -> None:
    """An endpoint that is missing holds up no deletion, nor do finalizers that are gone."""
    watcher, tcp = Watcher(Store(ready=False)), Tcp()
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.delete(finalizers=[]))
    assert watcher.wait(300) == ["delete.stalled"]
    assert _reasons(watcher) == ["DataStoreNotReady"]


def test_a_store_that_is_in_status_is_asked_before_one_that_is_wanted() -> None:
    """A scale is held up by the first alone, a migration by either."""
    tcp = Tcp().running().edit("dataStore", "other")
    watcher = Watcher(tcp, Store(ready=False), policy=Policy(limits={"scale": 100.0, "migrate": 100.0}))
    watcher.see(tcp.wants(replicas=3))
    watcher.wait(150)
    watcher.looks()
    watcher.wait(10)
    told = {
        item.name: [blocker["message"] for blocker in item.details["blockers"] if "DataStore" in blocker["reason"]]
        for item in watcher.said
        if item.name.endswith(".stalled")
    }
    not_ready, missing = "DataStore default is not ready", "DataStore other does not exist"
    assert told == {"scale.stalled": [not_ready], "migrate.stalled": [not_ready, missing]}


def test_the_question_for_a_job_is_asked_once() -> None:
    """From the limit on; its answer is waited for, for ten seconds, but the limit all the same."""
    operation = OpenOperation(kind="migrate", asked_by="2", epoch=1, opened=1000.0)
    memory = TcpMemory(uid="u", namespace="n", name="a", version="1", operations=[operation])
    policy = Policy(limits={"migrate": 50.0})
    assert ask_for_job(memory, 1049.9, policy) is None
    assert stalled_due(memory, policy) == 1050.0
    assert ask_for_job(memory, 1050.0, policy) is not None
    assert ask_for_job(memory, 1051.0, policy) is None
    assert stalled_due(memory, policy) == 1060.0
    memory.job_asked = 1001.0
    assert stalled_due(memory, policy) == 1050.0


def test_a_deletion_that_nobody_could_look_at_names_nothing_left() -> None:
    """Nobody knows what is."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.delete())
    watcher.see(tcp.touch(), "DELETED")
    assert watcher.wait(300) == ["delete.stalled"]
    assert _reasons(watcher) == []


@pytest.mark.parametrize(
    ("used", "wanted", "messages"),
    [
        ("", "", []),
        ("", "b", ["DataStore b does not exist"]),
        ("a", "b", ["DataStore a does not exist", "DataStore b does not exist"]),
        ("a", "a", ["DataStore a does not exist"]),
    ],
)
def test_a_creation_names_each_store_once(used: str, wanted: str, messages: list[str]) -> None:
    """The one in use and the one that is wanted, as far as there are any."""
    watcher, tcp = Watcher(Store()), Tcp(store=wanted)
    watcher.see(tcp.set("status/storage/dataStoreName", used), "ADDED")
    watcher.wait(600)
    blockers = watcher.last.details["blockers"]
    assert [blocker["message"] for blocker in blockers if blocker["reason"] == "DataStoreMissing"] == messages
