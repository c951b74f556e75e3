"""Each row of the contract's table of states."""

from typing import Any

import pytest

from publisher.lifecycle.policy import Policy
from tests.support.tcp import Tcp, Watcher

_PAUSED = "kamaji.clastix.io/paused"
_SOOT = "kamaji.clastix.io/soot"


def _running(*, replicas: int = 2, policy: Policy | None = None) -> tuple[Watcher, Tcp]:
    tcp = Tcp(replicas=replicas).running(replicas=replicas)
    return Watcher(tcp, policy=policy), tcp


def test_the_same_object_twice_says_nothing() -> None:
    """With the same resourceVersion or another one."""
    watcher, tcp = _running()
    assert watcher.see(tcp) == []
    assert watcher.see(tcp.touch()) == []
    assert watcher.relist(tcp) == []


def test_ready_and_notready_alternate() -> None:
    """Words that say neither keep what was."""
    watcher, tcp = _running()
    assert watcher.see(tcp.status("NotReady", ready=0)) == ["state.notready"]
    assert watcher.see(tcp.status("Unknown", ready=1, exist=2)) == []
    assert watcher.see(tcp.status("NotReady", ready=1, exist=2)) == []
    assert watcher.see(tcp.status("WriteLimited", ready=2)) == ["state.ready"]
    assert watcher.see(tcp.status("Ready", ready=0)) == ["state.notready"]
    assert watcher.see(tcp.status("Ready", ready=2)) == ["state.ready"]


@pytest.mark.parametrize("word", ["Upgrading", "Migrating", "Unknown", "CertificateAuthorityRotating", "Dreaming"])
def test_a_word_that_says_nothing_of_serving_keeps_what_was(word: str) -> None:
    """Unknown words of releases to come change nothing."""
    watcher, tcp = _running()
    assert watcher.see(tcp.status(word)) == []
    assert watcher.see(tcp.status("Ready")) == []
    assert tcp.object["status"]["kubernetesResources"]["version"]["status"] == "Ready"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", None),
        ("status", "broken"),
        ("status/kubernetesResources", "broken"),
        ("status/kubernetesResources/version", None),
        ("status/kubernetesResources/version", []),
        ("status/kubernetesResources/deployment", None),
        ("status/kubernetesResources/deployment", 7),
        ("status/kubeconfig", None),
        ("status/kubeconfig/admin", "broken"),
        ("status/certificates", None),
        ("status/certificates/ca", {"checksum": ""}),
        ("status/storage", None),
        ("status/controlPlaneEndpoint", ""),
        ("status/observedGeneration", None),
        ("spec/controlPlane", None),
        ("spec/kubernetes", None),
        ("spec/dataStore", None),
        ("metadata/annotations", None),
    ],
)
def test_what_is_absent_or_misshapen_says_nothing(path: str, value: Any) -> None:
    """What was known stays, and comes back without an event."""
    watcher, tcp = _running()
    whole = tcp.copy()
    broken = tcp.set(path, value)
    if value is None:
        place = broken.object
        *parents, last = path.split("/")
        for name in parents:
            place = place[name]
        place[last] = None
    said = watcher.see(broken)
    assert [name for name in said if name != "spec.changed"] == []
    whole.object["metadata"]["resourceVersion"] = broken.version
    assert [name for name in watcher.see(whole.touch()) if name != "spec.changed"] == []


def test_degraded_and_recovered() -> None:
    """A pod is lost and comes back while it stays ready."""
    watcher, tcp = _running()
    assert watcher.see(tcp.status("Unknown", ready=1, exist=2)) == ["state.degraded"]
    assert watcher.see(tcp.status("Ready", ready=2)) == ["state.recovered"]


def test_a_fall_ends_degraded_silently() -> None:
    """And it is degraded anew afterwards."""
    watcher, tcp = _running()
    watcher.see(tcp.status("Unknown", ready=1, exist=2))
    assert watcher.see(tcp.status("NotReady", ready=0, exist=2)) == ["state.notready"]
    assert watcher.see(tcp.status("Ready", ready=1, exist=2)) == ["state.ready", "state.degraded"]


def test_a_started_operation_explains_missing_replicas() -> None:
    """They are judged again when it ends; one that is only requested explains nothing."""
    watcher, tcp = _running()
    assert watcher.see(tcp.wants(replicas=3)) == ["scale.started"]
    assert watcher.see(tcp.status("Unknown", ready=2, exist=3)) == []
    assert watcher.see(tcp.status("Ready", ready=3)) == ["scale.completed"]
    watcher.see(tcp.wants(version="v1.35.0"))
    assert watcher.see(tcp.status("Unknown", ready=2, exist=3)) == ["state.degraded"]
    assert watcher.see(tcp.status("Unknown", ready=3)) == ["state.recovered"]
    assert watcher.see(tcp.status("Upgrading", ready=2, exist=4)) == ["upgrade.started"]
    said = watcher.see(tcp.status("Ready", version="v1.35.0", ready=2, exist=3))
    assert said == ["upgrade.completed", "state.degraded"]


def test_an_outage_begins_after_the_hold_and_ends_with_ready() -> None:
    """Counted from state.notready; its end tells how long and how often the word changed."""
    watcher, tcp = _running()
    watcher.see(tcp.status("NotReady", ready=0))
    assert watcher.wait(59) == []
    assert watcher.wait(1) == ["outage.started"]
    assert watcher.wait(3600) == []
    watcher.see(tcp.status("Unknown", ready=1, exist=2))
    watcher.see(tcp.status("NotReady", ready=0, exist=2))
    assert watcher.see(tcp.status("Ready", ready=2)) == ["state.ready", "outage.ended"]
    assert watcher.last.details["flips"] == 3
    assert watcher.last.details["durationSeconds"] == 3663.0


def test_a_short_fall_is_no_outage() -> None:
    """It is ready again before the hold has passed."""
    watcher, tcp = _running()
    watcher.see(tcp.status("NotReady", ready=0))
    watcher.wait(30)
    assert watcher.see(tcp.status("Ready", ready=2)) == ["state.ready"]
    assert watcher.wait(600) == []


def test_asleep_is_no_outage_and_waking_counts_anew() -> None:
    """After a night asleep a wake has the whole hold."""
    watcher, tcp = _running()
    watcher.see(tcp.wants(replicas=0))
    watcher.see(tcp.status("Sleeping", ready=0))
    assert watcher.wait(8 * 3600) == []
    watcher.see(tcp.wants(replicas=2))
    assert watcher.wait(58) == []
    assert watcher.wait(3) == ["outage.started"]


def test_a_baseline_that_is_down_is_an_outage_after_the_hold() -> None:
    """What to page on was there before the publisher."""
    watcher = Watcher(Tcp().running().status("NotReady", ready=0))
    assert watcher.wait(61) == ["outage.started"]


def test_a_looping_deployment_is_told_once_and_settles() -> None:
    """Five generations of the Deployment within a minute, and nobody asked; two quiet minutes end it."""
    watcher, tcp = _running()
    said: list[str] = []
    for number in range(2, 20):
        said += watcher.see(tcp.status("Unknown", ready=2, rollout=number))
    assert said == ["state.looping"]
    assert watcher.wait(119) == []
    assert watcher.wait(1) == ["state.settled"]


def test_a_looping_certificate_is_counted_and_not_told() -> None:
    """Four are told; from the fifth on the loop is, and others are still told."""
    watcher, tcp = _running()
    said: list[str] = []
    for number in range(2, 30):
        said += watcher.see(tcp.set("status/certificates/apiServer/checksum", f"api-{number}"))
    assert said == [*["certificates.rotated"] * 4, "state.looping"]
    watcher.see(tcp.set("status/certificates/sa", {"checksum": "sa-1"}))
    assert watcher.see(tcp.set("status/certificates/sa/checksum", "sa-2")) == ["certificates.rotated"]
    assert watcher.wait(130) == ["state.settled"]
    assert watcher.last.details["loop"]["changes"] == 23


def test_slow_changes_are_no_loop() -> None:
    """Ten within a minute are; one in ten seconds are not."""
    watcher, tcp = _running()
    for number in range(30):
        word = "Unknown" if number % 2 == 0 else "Ready"
        assert watcher.see(tcp.status(word), after=10) == []


def test_an_edit_begins_the_count_anew() -> None:
    """A loop is what nobody asked for."""
    watcher, tcp = _running()
    for number in range(2, 6):
        watcher.see(tcp.status("Unknown", ready=2, rollout=number))
    watcher.see(tcp.edit("networkProfile/port", 7443))
    assert watcher.see(tcp.status("Unknown", ready=2, rollout=7)) == []


def test_bootstrap_completes_with_its_token() -> None:
    """Once; another token is no event."""
    watcher, tcp = _running()
    path = "status/kubeadmPhase/bootstrapToken/checksum"
    assert watcher.see(tcp.set(path, "token-1")) == ["bootstrap.completed"]
    assert watcher.see(tcp.set(path, "token-2")) == []


def test_a_failed_bootstrap_is_told_when_the_mark_stands() -> None:
    """The operator takes the mark away within moments when it tries again."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set("metadata/annotations", {_SOOT: "failed"})) == []
    assert watcher.see(tcp.set("metadata/annotations", {}), after=0.2) == []
    assert watcher.wait(120) == []
    assert watcher.see(tcp.set("metadata/annotations", {_SOOT: "failed"})) == []
    assert watcher.wait(10) == ["bootstrap.failed"]
    assert watcher.wait(600) == []


def test_a_bootstrap_that_fails_again_and_again_is_told() -> None:
    """At the third try, however short each mark stands."""
    watcher, tcp = _running()
    said: list[str] = []
    for _ in range(5):
        said += watcher.see(tcp.set("metadata/annotations", {_SOOT: "failed"}), after=120)
        said += watcher.see(tcp.set("metadata/annotations", {}), after=0.2)
    assert said == ["bootstrap.failed"]


def test_writes_are_limited_and_restored_by_spec_and_status() -> None:
    """Another set of limits meanwhile is an edit that names them."""
    watcher, tcp = _running()
    assert watcher.see(tcp.edit("writePermissions/blockCreation", value=True)) == []
    assert watcher.see(tcp.status("WriteLimited")) == ["writes.limited"]
    assert watcher.last.details["verbs"] == ["create"]
    assert watcher.see(tcp.status("Upgrading")) == []
    assert watcher.see(tcp.status("WriteLimited")) == []
    assert watcher.see(tcp.edit("writePermissions/blockDeletion", value=True)) == ["spec.changed"]
    assert watcher.last.details["verbs"] == ["create", "delete"]
    assert watcher.see(tcp.edit("writePermissions", {})) == []
    assert watcher.see(tcp.status("Ready")) == ["writes.restored"]


def test_paused_and_resumed_by_the_annotation_alone() -> None:
    """Whatever its value."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set("metadata/annotations", {_PAUSED: "false"})) == ["state.paused"]
    assert watcher.see(tcp.set("metadata/annotations", {_PAUSED: "true"})) == []
    assert watcher.see(tcp.set("metadata/annotations", {})) == ["state.resumed"]


def test_endpoint_assigned_and_changed() -> None:
    """The access points of a Gateway count too; their order does not."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    assert watcher.see(tcp.set("status/controlPlaneEndpoint", "10.0.0.1:6443")) == ["endpoint.assigned"]
    first, second = {"value": "a.example", "port": 443}, {"value": "b.example", "port": 443}
    path = "status/kubernetesResources/gateway/accessPoints"
    assert watcher.see(tcp.set(path, [first, second])) == ["endpoint.changed"]
    assert watcher.see(tcp.set(path, [second, first])) == []
    assert watcher.see(tcp.set(path, [second])) == ["endpoint.changed"]
    assert watcher.see(tcp.set("status/controlPlaneEndpoint", "10.0.0.2:6443")) == ["endpoint.changed"]


def test_kubeconfig_available_and_rotated() -> None:
    """Kamaji writes it twice during a creation: that is no rotation."""
    watcher, tcp = Watcher(), Tcp()
    watcher.see(tcp, "ADDED")
    admin = {"checksum": "kube-1", "secretName": "acme-admin-kubeconfig"}
    assert watcher.see(tcp.set("status/kubeconfig/admin", admin)) == ["kubeconfig.available"]
    assert watcher.see(tcp.set("status/kubeconfig/admin/checksum", "kube-2")) == []
    watcher.see(tcp.status("Ready", version="v1.34.1", ready=2))
    assert watcher.see(tcp.set("status/kubeconfig/admin/checksum", "kube-3")) == ["kubeconfig.rotated"]


def test_certificates_rotated_tells_which() -> None:
    """Those of the DataStore and of konnectivity too."""
    watcher, tcp = _running()
    tcp.set("status/storage/certificate", {"checksum": "store-1"})
    tcp.set("status/addons/konnectivity", {"enabled": True, "certificate": {"checksum": "konn-1"}})
    assert watcher.see(tcp) == []
    tcp.set("status/storage/certificate/checksum", "store-2").set("status/certificates/apiServer/checksum", "api-2")
    tcp.set("status/addons/konnectivity/certificate/checksum", "konn-2")
    assert watcher.see(tcp) == ["certificates.rotated"]
    assert watcher.last.details["certificates"] == ["apiServer", "datastore", "konnectivity"]


def test_credentials_rotated_outside_a_migration() -> None:
    """A migration brings other credentials by itself."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set("status/storage/config/checksum", "config-2")) == ["credentials.rotated"]
    watcher.see(tcp.wants(store="other"))
    assert watcher.see(tcp.set("status/storage/config/checksum", "config-3")) == []
    tcp.set("status/storage/config/checksum", "config-4")
    assert watcher.see(tcp.status("Ready", store="other")) == ["migrate.started", "migrate.completed"]


def test_labels_changed() -> None:
    """Billing keys live there."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set("metadata/labels", {"tier": "silver"})) == ["labels.changed"]
    assert watcher.last.change == ("metadata.labels", {"tier": "gold"}, {"tier": "silver"})


def test_spec_changed_names_the_paths() -> None:
    """What is empty equals what is absent; what operations tell is not repeated."""
    watcher, tcp = _running()
    assert watcher.see(tcp.edit("addons", {"coreDNS": {}})) == []
    assert watcher.see(tcp.edit("controlPlane/extraArgs", {"apiServer": [], "scheduler": None})) == []
    assert watcher.see(tcp.edit("addons/coreDNS/imageTag", "v1")) == ["spec.changed"]
    assert watcher.last.details["paths"] == ["addons.coreDNS.imageTag"]
    assert watcher.see(tcp.edit("addons", None)) == ["spec.changed"]
    tcp.edit("networkProfile/port", 7443)
    assert watcher.see(tcp.wants(version="v1.35.0")) == ["upgrade.requested", "spec.changed"]
    assert watcher.last.details["paths"] == ["networkProfile.port"]


def test_addons_changed_is_a_list() -> None:
    """What appears with an operator's upgrade is no event."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set("status/addons", {"coreDNS": {"enabled": False}, "kubeProxy": {"enabled": False}})) == []
    tcp.set("status/addons/coreDNS/enabled", value=True)
    assert watcher.see(tcp.set("status/addons/konnectivity", {"enabled": True})) == ["addons.changed"]
    assert watcher.last.details["addons"] == [{"name": "coreDNS", "enabled": True}]


def test_a_first_sight_tells_facts_and_no_differences() -> None:
    """Paused, endpoint, kubeconfig and writes; no labels, no spec, no addons."""
    watcher, tcp = Watcher(), Tcp().running()
    tcp.set("metadata/annotations", {_PAUSED: ""}).edit("writePermissions/blockUpdate", value=True)
    tcp.set("status/addons", {"coreDNS": {"enabled": True}}).status("WriteLimited")
    assert watcher.see(tcp, "ADDED") == [
        "create.started",
        "create.completed",
        "state.ready",
        "writes.limited",
        "state.paused",
        "endpoint.assigned",
        "kubeconfig.available",
    ]


def test_discovered_is_told_only_when_it_is_asked_for() -> None:
    """The baseline is silent by default."""
    assert Watcher(Tcp().running()).at_baseline == []
    assert Watcher(Tcp().running(), policy=Policy(announce_existing=True)).at_baseline == ["state.discovered"]


def test_finalizers_that_come_and_go_are_no_sign() -> None:
    """The soot finalizer is removed and added again in normal life."""
    watcher, tcp = _running()
    assert watcher.see(tcp.set("metadata/finalizers", [])) == []
    assert watcher.see(tcp.set("metadata/finalizers", ["finalizer.kamaji.clastix.io/soot"])) == []
