"""Each field that is read of a snapshot."""

from typing import Any

import orjson
import pytest

from publisher.lifecycle.facts import AccessPoint, Facts, Trouble
from publisher.lifecycle.merge import first_seen, merged, seconds_of
from publisher.snapshot import TCP_DECODER
from publisher.snapshot.tcp import TcpSnapshot
from tests.support.tcp import Tcp

_KINDS = ("ca", "frontProxyCA", "sa", "apiServer", "apiServerKubeletClient", "frontProxyClient")
_STEPS = (
    "controlPlaneEndpoint",
    "kubeadmconfig",
    *(f"certificates.{name}" for name in _KINDS),
    *(f"kubeconfig.{name}" for name in ("admin", "controllerManager", "scheduler")),
    *(f"storage.{name}" for name in ("config", "setup", "certificate")),
    "deployment",
)


def _snapshot(tcp: Tcp) -> TcpSnapshot:
    snapshot = TCP_DECODER.item(orjson.dumps(tcp.object))
    assert isinstance(snapshot, TcpSnapshot)
    return snapshot


def _read(values: dict[str, Any], known: Facts | None = None) -> Facts:
    tcp = Tcp()
    for path, value in values.items():
        tcp.set(path, value)
    return first_seen(_snapshot(tcp), ()) if known is None else merged(known, _snapshot(tcp), ())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 0.0),
        ("", 0.0),
        ("soon", 0.0),
        ("2026-12-01T14:00:00", 0.0),
        ("1960-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T01:00:02+01:00", 2.0),
    ],
)
def test_seconds_of_a_timestamp(text: str | None, seconds: float) -> None:
    """What names no moment is 0."""
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("empty", [None, "", {"checksum": ""}, {"secretName": "s"}])
def test_a_creation_stands_at_the_first_empty_block(empty: Any) -> None:
    """One after the other is filled, in the order of Kamaji; a block without a checksum is empty."""
    tcp, found = Tcp().set("status/observedGeneration", 1), []
    for step in _STEPS:
        path = f"status/{step.replace('.', '/')}"
        if step not in ("controlPlaneEndpoint", "deployment"):
            tcp.set(path, empty)
        found.append(first_seen(_snapshot(tcp), ()).missing)
        tcp.set(path, "10.0.0.1:6443" if step == "controlPlaneEndpoint" else {"checksum": "c"})
    assert tuple(found) == _STEPS
    assert _read({"status/kubernetesResources/version/version": "v1.34.1"}, Facts(missing="deployment")).missing == ""


def test_each_certificate_is_known_by_its_name() -> None:
    """Those of etcd, the DataStore and konnectivity too; empty ones are none."""
    tcp = Tcp()
    for name in (*_KINDS, "etcd/ca"):
        tcp.set(f"status/certificates/{name}", {"checksum": f"sum-{name}"})
    tcp.set("status/certificates/etcd/none", {"checksum": ""}).set("status/certificates/etcd/nothing", "broken")
    tcp.set("status/storage/certificate", {"checksum": "sum-store"})
    tcp.set("status/addons/konnectivity", {"certificate": {"checksum": "sum-konnectivity"}})
    facts = first_seen(_snapshot(tcp), ())
    told = {name: f"sum-{name}" for name in _KINDS} | {"etcd.ca": "sum-etcd/ca"}
    assert facts.certificates == told | {"datastore": "sum-store", "konnectivity": "sum-konnectivity"}
    assert facts.addons == {}


def test_each_addon_is_known_by_its_name() -> None:
    """Enabled or not; one that does not say is not known."""
    addons = {"coreDNS": {"enabled": True}, "kubeProxy": {"enabled": False}, "konnectivity": {"enabled": True}}
    assert _read({"status/addons": addons}).addons == {"coreDNS": True, "kubeProxy": False, "konnectivity": True}
    assert _read({"status/addons": {"coreDNS": {}}}).addons == {}


@pytest.mark.parametrize(
    ("condition", "trouble"),
    [
        ({"type": "Available", "status": "True"}, None),
        ({"type": "Available", "status": "False", "reason": "R", "message": "m"}, ("Available", "False", "R", "m")),
        ({"type": "Available"}, ("Available", "", "", "")),
        ({"type": "Progressing", "status": "True"}, None),
        ({"type": "Progressing", "status": "False"}, ("Progressing", "False", "", "")),
        ({"type": "ReplicaFailure", "status": "False"}, None),
        ({"type": "ReplicaFailure", "status": "True"}, ("ReplicaFailure", "True", "", "")),
        ({"type": "Novel", "status": "False"}, None),
        ({"status": "False"}, None),
        ({"type": "Progressing", "message": "x" * 301}, ("Progressing", "", "", "x" * 300)),
    ],
)
def test_a_condition_that_is_not_as_it_should_be_is_a_trouble(condition: Any, trouble: Any) -> None:
    """Conditions that are not known say nothing; long messages are cut."""
    facts = _read({"status/kubernetesResources/deployment/conditions": [condition]})
    assert facts.troubles == ((Trouble(*trouble),) if trouble else ())


def test_the_available_condition_tells_since_when() -> None:
    """Without a status it is told as empty, not as what it was."""
    path = "status/kubernetesResources/deployment/conditions"
    facts = _read({path: [{"type": "Available", "status": "True", "lastTransitionTime": "1970-01-01T00:00:09Z"}]})
    assert (facts.available, facts.available_since) == ("True", 9.0)
    assert _read({path: [{"type": "Available"}]}, facts).available == ""


@pytest.mark.parametrize(
    ("points", "read"),
    [
        ([{}], [AccessPoint("", 0, ())]),
        ([{"value": "b", "port": 2, "urls": ["u", "t"]}], [AccessPoint("b", 2, ("u", "t"))]),
        ([{"value": "b"}, {"value": "a", "port": 1}], [AccessPoint("a", 1), AccessPoint("b", 0)]),
    ],
)
def test_access_points_are_read_in_order(points: Any, read: list[AccessPoint]) -> None:
    """What they do not say is empty; the order of the list is no fact."""
    assert _read({"status/kubernetesResources/gateway/accessPoints": points}).access_points == tuple(read)


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [(0.0, "1970-01-01T00:01:00Z", 60.0), (0.0, "soon", 1.0), (60.0, "1970-01-01T00:02:00Z", 60.0)],
)
def test_a_deletion_is_asked_for_once(before: float, text: str, after: float) -> None:
    """The first timestamp counts; a malformed one tells only that it was."""
    assert _read({"metadata/deletionTimestamp": text}, Facts(deleting=before)).deleting == after


def test_only_annotations_that_are_carried_and_there_are_kept() -> None:
    """Events carry them."""
    tcp = Tcp().set("metadata/annotations", {"a": "1", "b": "2"})
    assert first_seen(_snapshot(tcp), ("a", "c")).annotations == {"a": "1"}
    assert first_seen(_snapshot(tcp), ()).annotations == {}


def test_each_verb_that_is_blocked_is_read() -> None:
    """In the order of the API."""
    limits = {"blockDeletion": True, "blockUpdate": True, "blockCreation": True}
    assert _read({"spec/writePermissions": limits}).verbs == ("create", "update", "delete")
    assert _read({"spec/writePermissions": {"blockUpdate": True}}).verbs == ("update",)


@pytest.mark.parametrize(
    ("facts", "serves", "fallen"),
    [
        (Facts(word="Ready", replicas=1, ready=1), True, False),
        (Facts(word="WriteLimited", replicas=1, ready=1), True, False),
        (Facts(word="Ready", replicas=1, ready=0), False, True),
        (Facts(word="Ready", replicas=0, ready=0), False, True),
        (Facts(word="Ready"), False, False),
        (Facts(word="Unknown", replicas=1, ready=1), False, False),
        (Facts(word="NotReady", replicas=1, ready=1), False, True),
        (Facts(word="Sleeping", replicas=1, ready=1), False, True),
    ],
)
def test_serving_and_fallen(facts: Facts, *, serves: bool, fallen: bool) -> None:
    """Neither keeps what was."""
    assert (facts.serves, facts.fallen) == (serves, fallen)


@pytest.mark.parametrize(
    ("facts", "asleep", "rolled_out"),
    [
        (Facts(wanted=0, replicas=0), True, False),
        (Facts(wanted=0), False, False),
        (Facts(wanted=0, replicas=1, updated=1), False, True),
        (Facts(wanted=1, replicas=0), False, False),
        (Facts(wanted=2, replicas=2, updated=1), False, False),
        (Facts(wanted=2, replicas=2, updated=3), False, True),
    ],
)
def test_asleep_and_rolled_out(facts: Facts, *, asleep: bool, rolled_out: bool) -> None:
    """A Deployment that was never seen is neither."""
    assert (facts.asleep, facts.rolled_out) == (asleep, rolled_out)


@pytest.mark.parametrize(("observed", "generation", "seen"), [(0, 3, True), (2, 3, False), (3, 3, True), (4, 3, False)])
def test_seen_is_of_this_generation(observed: int, generation: int, *, seen: bool) -> None:
    """A release that cannot tell has seen each."""
    assert Facts(observed=observed, generation=generation).seen is seen


def test_the_state_of_an_event_is_empty_where_nothing_is_known() -> None:
    """None, not an empty word; zero ready replicas are known once a Deployment was seen."""
    assert Facts().state() == {
        "status": None,
        "version": None,
        "replicas": {"wanted": 2, "ready": None},
        "endpoint": None,
        "dataStore": None,
        "kubeconfig": None,
        "paused": False,
        "deleting": False,
    }
    facts = Facts(word="w", version="v", wanted=1, replicas=0, endpoint="e", store="s", kubeconfig_secret="k")
    assert facts.state() == {
        "status": "w",
        "version": "v",
        "replicas": {"wanted": 1, "ready": 0},
        "endpoint": "e",
        "dataStore": "s",
        "kubeconfig": "k",
        "paused": False,
        "deleting": False,
    }
    state = Facts(paused=True, deleting=5.0, replicas=3, ready=3).state()
    assert (state["paused"], state["deleting"], state["replicas"]["ready"]) == (True, True, 3)
