"""What is still to be said of an object that is gone: when it is asked, and how the last event is worded."""

import pytest

from publisher.lifecycle.looks import Found, LookAnswer
from tests.support.tcp import Store, Tcp, Watcher

_POD = Found("Pod", "left")


def _gone(*others: Tcp | Store, uid: str | None = None) -> tuple[Watcher, Tcp]:
    tcp = Tcp(uid=uid).running()
    watcher = Watcher(tcp, *others)
    watcher.see(tcp.delete())
    watcher.see(tcp.touch(), "DELETED", after=0.0)
    return watcher, tcp


def test_what_is_left_is_asked_for_less_and_less_often() -> None:
    """After 1, 2, 4, 8 and 16 s, then every 30; the names are told in order."""
    watcher, _ = _gone(Store())
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        (look,) = watcher.looks()
        watcher.answer(look, Found("Pod", "b"), Found("Pod", "a"))
        watcher.wait(pause - 0.1)
        assert watcher.looks() == []
        watcher.wait(0.1)
    watcher.wait(300)
    assert watcher.find("delete.stalled").details["blockers"] == [
        {"reason": "ObjectsLeft", "message": "not gone yet: Pod/a, Pod/b"}
    ]


def test_a_question_without_an_answer_is_asked_again_after_thirty_seconds() -> None:
    """Not before; and a new process asks at once what the former one asked."""
    watcher, _ = _gone(Store())
    (look,) = watcher.looks()
    watcher.wait(29.9)
    assert watcher.looks() == []
    assert watcher.fleet.open_looks() == [look]
    watcher.wait(0.1)
    assert watcher.looks() == [look]


def test_an_answer_that_comes_twice_changes_nothing() -> None:
    """The first said that nothing is left; another object of its name may have come since."""
    watcher, _ = _gone(Store(used_by=["tenants/acme"]))
    (look,) = watcher.looks()
    assert watcher.answer(look) == []
    assert watcher.answer(look, _POD) == []
    assert watcher.fleet.open_looks() == []
    assert watcher.wait(5) == ["delete.completed"]
    assert watcher.answer(look, _POD) == []


def test_an_answer_about_an_object_that_lives_says_nothing() -> None:
    """It may have been asked by the process before."""
    watcher, tcp = _gone(Store())
    (look,) = watcher.looks()
    other = Watcher(tcp.set("metadata/deletionTimestamp", None))
    assert other.fleet.looked(LookAnswer(look, (), ("Pod",)), other.now) == []
    assert other.looks() == []


@pytest.mark.parametrize(
    ("used_by", "waited", "reason", "verified"),
    [(None, 0.0, "CleanedUp", "verified"), (["tenants/acme"], 5.0, "CleanupUnverified", "unverified")],
)
def test_the_end_says_why_in_one_word(used_by: list[str] | None, waited: float, reason: str, verified: str) -> None:
    """Its operation has ended with it."""
    watcher, _ = _gone(Store(used_by=used_by))
    (look,) = watcher.looks()
    watcher.answer(look)
    watcher.wait(waited)
    last = watcher.find("delete.completed")
    assert last.reason is not None
    assert (last.reason[0], last.details["cleanup"]) == (reason, verified)
    assert last.operation is not None
    assert last.operation.ended_at == watcher.now


def test_a_successor_is_the_reason_of_the_end() -> None:
    """Whose name it is now, nobody waits for a DataStore."""
    watcher, _ = _gone(Store(used_by=["tenants/acme"]))
    watcher.see(Tcp(uid="uid-new"), "ADDED")
    (look,) = watcher.looks()
    watcher.answer(look)
    last = watcher.find("delete.completed")
    assert last.reason is not None
    assert (last.reason[0], last.details["recreatedAs"]) == ("Recreated", "uid-new")


@pytest.mark.parametrize(
    ("found", "left"),
    [
        (Found("Pod", "p", owners=("uid-gone",)), True),
        (Found("Pod", "p", owners=("uid-gone", "uid-lives")), True),
        (Found("Pod", "p", owners=("uid-lives",)), False),
        (Found("Pod", "p", owners=("uid-unknown",)), True),
        (Found("Pod", "p"), True),
    ],
)
def test_what_a_living_neighbour_owns_is_not_left(found: Found, *, left: bool) -> None:
    """Unless the one that is gone owns it too."""
    watcher, _ = _gone(Store(), Tcp("other", uid="uid-lives").running(), uid="uid-gone")
    (look,) = watcher.looks()
    assert watcher.answer(look, found) == ([] if left else ["delete.completed"])


@pytest.mark.parametrize(("found", "said"), [((), ["delete.completed"]), ((_POD,), [])])
def test_the_last_word_of_a_publisher_that_stops_watching(found: tuple[Found, ...], said: list[str]) -> None:
    """What was looked at and not found is gone, even when nothing could be listed for certain; what is left is not."""
    watcher, _ = _gone(Store())
    assert watcher.fleet.finish(watcher.now) == []
    (look,) = watcher.looks()
    watcher.fleet.looked(LookAnswer(look, found, (), ("Pod",)), watcher.now)
    assert [item.name for item in watcher.fleet.finish(watcher.now)] == said
