"""From the end of the object to the end of what it owned."""

import pytest

from publisher.lifecycle.looks import Found, LookKind
from tests.support.tcp import Store, Tcp, Watcher


def _gone(*others: Tcp | Store, name: str = "acme") -> tuple[Watcher, Tcp]:
    """A watcher that just saw the object go."""
    tcp = Tcp(name).running()
    watcher = Watcher(tcp, *others)
    watcher.see(tcp.delete())
    watcher.see(tcp.touch(), "DELETED", after=0.0)
    return watcher, tcp


def _listing() -> Store:
    return Store(used_by=["tenants/acme", "tenants/other"])


def test_a_deletion_is_verified_when_nothing_is_left_and_its_store_let_go() -> None:
    """The answer comes first, then the DataStore's word."""
    store = _listing()
    watcher, tcp = _gone(store)
    (look,) = watcher.looks()
    assert (look.kind, look.namespace, look.name, look.uid) == (LookKind.CLEANUP, "tenants", "acme", tcp.uid)
    assert watcher.answer(look) == []
    assert watcher.see(store.status(used_by=["tenants/other"])) == ["usage.changed", "delete.completed"]
    assert watcher.last.details == {
        "cleanup": "verified",
        "verified": ["Deployment", "Service", "ConfigMap", "Secret"],
        "unverified": [],
        "leftovers": [],
        "recreatedAs": None,
        "namespaceFree": True,
    }
    assert watcher.last.object["resourceVersion"] is None
    assert watcher.last.id == f"{tcp.uid}.delete.completed"


def test_the_store_may_let_go_before_the_answer() -> None:
    """Then the answer completes it."""
    store = _listing()
    watcher, _ = _gone(store)
    assert watcher.see(store.status(used_by=["tenants/other"])) == ["usage.changed"]
    (look,) = watcher.looks()
    assert watcher.answer(look) == ["delete.completed"]
    assert watcher.last.details["cleanup"] == "verified"


def test_a_store_that_does_not_let_go_is_waited_for_five_seconds() -> None:
    """Then it is completed, unverified."""
    watcher, _ = _gone(_listing())
    (look,) = watcher.looks()
    watcher.answer(look)
    assert watcher.wait(4.9) == []
    assert watcher.wait(0.2) == ["delete.completed"]
    assert watcher.last.details["cleanup"] == "unverified"


def test_an_unknown_store_verifies_nothing() -> None:
    """The DataStore is gone, or was never seen."""
    watcher, _ = _gone()
    (look,) = watcher.looks()
    watcher.answer(look)
    assert watcher.wait(5.1) == ["delete.completed"]
    assert watcher.last.details["cleanup"] == "unverified"


def test_without_the_right_to_list_secrets_a_free_namespace_is_unknown() -> None:
    """A Secret with a finalizer can hold it for hours."""
    watcher, _ = _gone(Store())
    (look,) = watcher.looks()
    assert watcher.answer(look, unverified=("Secret",)) == ["delete.completed"]
    assert watcher.last.details["unverified"] == ["Secret"]
    assert watcher.last.details["namespaceFree"] == "unknown"


def test_a_neighbour_keeps_the_namespace() -> None:
    """That is known with or without Secrets."""
    watcher, _ = _gone(Store(), Tcp("neighbour").running())
    (look,) = watcher.looks()
    watcher.answer(look, unverified=("Secret",))
    assert watcher.last.details["namespaceFree"] is False


def test_what_is_left_is_asked_for_again_and_stalls() -> None:
    """The pauses grow; the blocker names what is left."""
    watcher, tcp = _gone(Store())
    secret = Found("Secret", "acme-datastore-config", deleting=True, finalizers=("kamaji/datastore-secret",))
    asked = 0
    said: list[str] = []
    for _ in range(400):
        for look in watcher.looks():
            asked += 1
            said += watcher.answer(look, secret)
        said += watcher.wait(1)
    assert said == ["delete.stalled"]
    assert watcher.last.details["stalledAt"] == "finalized"
    assert [blocker["reason"] for blocker in watcher.last.details["blockers"]] == ["ObjectsLeft"]
    assert "Secret/acme-datastore-config" in watcher.last.details["blockers"][0]["message"]
    assert 10 < asked < 25
    watcher.wait(30)
    (look,) = watcher.looks()
    assert watcher.answer(look) == ["delete.completed"]
    assert watcher.last.id == f"{tcp.uid}.delete.completed"


def test_an_unanswered_question_is_put_again() -> None:
    """The one who answers may have been restarted."""
    watcher, _ = _gone(Store())
    assert len(watcher.looks()) == 1
    watcher.wait(5)
    assert watcher.looks() == []
    watcher.wait(30)
    assert len(watcher.looks()) == 1


@pytest.mark.parametrize("owners", [("uid-x",), ()])
def test_what_a_living_namesake_owns_is_not_left(owners: tuple[str, ...]) -> None:
    """An owner reference to its uid, or none to a living TenantControlPlane."""
    watcher, _ = _gone(Store())
    successor = Tcp("acme", uid="uid-x")
    watcher.see(successor, "ADDED")
    (look,) = watcher.looks()
    said = watcher.answer(look, Found("Service", "acme", owners=owners))
    assert said == (["delete.completed"] if owners else [])


def test_a_successor_is_named_and_nothing_is_waited_for() -> None:
    """Whether the DataStore lists the old or the new one cannot be told."""
    watcher, _ = _gone(_listing())
    (look,) = watcher.looks()
    watcher.answer(look)
    successor = Tcp("acme")
    assert watcher.see(successor, "ADDED") == ["create.started", "delete.completed"]
    assert watcher.last.details["recreatedAs"] == successor.uid
    assert watcher.last.details["cleanup"] == "unverified"
    assert watcher.last.details["namespaceFree"] is False


def test_what_was_orphaned_on_purpose_is_left_over() -> None:
    """The order to leave dependents behind is a finalizer of the deletion."""
    tcp = Tcp().running()
    watcher = Watcher(tcp, Store())
    watcher.see(tcp.delete(finalizers=["finalizer.kamaji.clastix.io", "orphan"]))
    watcher.see(tcp.set("metadata/finalizers", ["finalizer.kamaji.clastix.io"]))
    watcher.see(tcp.set("metadata/finalizers", []), "DELETED")
    (look,) = watcher.looks()
    assert watcher.answer(look, Found("Service", "acme")) == ["delete.completed"]
    assert watcher.last.details["leftovers"] == ["Service/acme"]


def test_a_deletion_under_way_survives_a_restart() -> None:
    """Memory as bytes: the question is put again, the numbers go on."""
    store = _listing()
    watcher, tcp = _gone(store)
    before = watcher.last.sequence
    watcher.restart()
    (look,) = watcher.looks()
    watcher.answer(look)
    assert watcher.see(store.status(used_by=None)) == ["usage.changed", "delete.completed"]
    assert watcher.last.uid == tcp.uid
    assert watcher.last.sequence > before


def test_the_finalizers_last_seen_are_told() -> None:
    """They name who held the object until the end."""
    watcher, _ = _gone(Store())
    assert watcher.find("delete.finalized").details["finalizers"] == ["finalizer.kamaji.clastix.io"]


def test_nothing_follows_the_end() -> None:
    """Late lines of an object that is gone, and answers that nobody waits for."""
    watcher, tcp = _gone(Store())
    assert watcher.see(tcp.touch()) == []
    assert watcher.see(tcp.touch(), "DELETED") == []
    (look,) = watcher.looks()
    watcher.answer(look)
    assert watcher.answer(look) == []
    assert watcher.see(tcp.touch(), "DELETED") == []
    assert watcher.fleet.changed()[tcp.uid] is None
    assert watcher.fleet.next_deadline() is None


def test_an_answer_that_could_list_nothing_verifies_nothing() -> None:
    """It is asked again, and left at that after some tries."""
    watcher, _ = _gone(Store())
    everything = ("Deployment", "Service", "ConfigMap", "Secret")
    said: list[str] = []
    asked = 0
    while not said and asked < 20:
        for look in watcher.looks():
            asked += 1
            said += watcher.answer(look, unverified=everything)
        said += watcher.wait(1)
    assert said == ["delete.completed"]
    assert asked == 5
    assert watcher.last.details["cleanup"] == "unverified"
