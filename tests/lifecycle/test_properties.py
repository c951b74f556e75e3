"""What holds of every life, however odd."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.lifecycle.decision import Decision
from publisher.lifecycle.operations import STEPS
from tests.support.tcp import Store, Tcp, Watcher
from tests.support.walks import DECISIVE, Step, apply, lives, wild_lives

_PAUSES = frozenset({"state.paused", "state.resumed"})
_ENDS = ("completed", "superseded", "cancelled")


def _lived(steps: list[Step], *, baseline: bool = False) -> Watcher:
    """Every step watched, then deleted and gone."""
    tcp = Tcp(uid="uid-walk")
    watcher = Watcher(*([tcp] if baseline else []), Store())
    if not baseline:
        watcher.see(tcp, "ADDED")
    for step in steps:
        watcher.see(apply(tcp, step), after=2.0)
    watcher.see(tcp.delete())
    watcher.see(tcp.touch(), "DELETED")
    return watcher


@given(wild_lives(), st.booleans())
def test_events_are_unique_and_gapless(steps: list[Step], baseline: bool) -> None:  # noqa: FBT001 - Hypothesis gives it
    """No id twice, no number left out."""
    said = _lived(steps, baseline=baseline).said
    assert max(Counter(decision.id for decision in said).values()) == 1
    assert [decision.sequence for decision in said] == [f"000001-{n:014d}" for n in range(1, len(said) + 1)]


@given(wild_lives(), st.booleans())
def test_ready_and_notready_alternate(steps: list[Step], baseline: bool) -> None:  # noqa: FBT001
    """From the first state.ready on."""
    names = [decision.name for decision in _lived(steps, baseline=baseline).said]
    told = [name for name in names if name in ("state.ready", "state.notready")]
    assert all(one != other for one, other in pairwise(told))
    if not baseline:
        assert told[:1] in ([], ["state.ready"])


@given(wild_lives(), st.booleans())
def test_every_operation_takes_its_steps_in_order_and_ends_once(steps: list[Step], baseline: bool) -> None:  # noqa: FBT001
    """Requested, started, one end; all have ended when the object is gone, but its deletion."""
    operations: dict[str, list[str]] = {}
    for decision in _lived(steps, baseline=baseline).said:
        if decision.operation is not None:
            operations.setdefault(decision.operation.id, []).append(decision.name)
    for names in operations.values():
        _check_operation(names)


def _check_operation(names: list[str]) -> None:
    kind = names[0].partition(".")[0]
    words = [name.partition(".")[2] for name in names if not name.endswith(".stalled")]
    taken = [word for word in words if word not in _ENDS]
    assert tuple(taken) == STEPS[kind][: len(taken)]
    ends = [word for word in words if word in _ENDS]
    assert len(ends) == (0 if kind == "delete" else 1)
    if ends:
        assert words[-1] == ends[0]
        assert ends[0] != "completed" or len(taken) == len(STEPS[kind])


@given(wild_lives())
def test_only_the_deletion_and_pauses_follow_its_start(steps: list[Step]) -> None:
    """Whatever status does meanwhile."""
    tcp = Tcp()
    watcher = Watcher(Store())
    watcher.see(tcp, "ADDED")
    watcher.see(tcp.delete())
    watcher.said.clear()
    for step in steps:
        watcher.see(apply(tcp, step))
    watcher.wait(10_000)
    assert {name for name in (item.name for item in watcher.said) if not name.startswith("delete.")} <= _PAUSES


@given(wild_lives())
def test_the_same_object_twice_says_nothing(steps: list[Step]) -> None:
    """As a watch line, and in a list (a rotation may end there: a list is a later look)."""
    tcp = Tcp()
    watcher = Watcher()
    watcher.see(tcp, "ADDED")
    for step in steps:
        watcher.see(apply(tcp, step))
        assert watcher.see(tcp, after=0.0) == []
        assert watcher.relist(tcp, after=0.0) == []


@given(lives(), st.data())
@settings(max_examples=300)
def test_a_cut_and_a_list_end_in_the_same_state(steps: list[Step], data: st.DataObject) -> None:
    """From the next Ready, NotReady or Sleeping on; and nothing that ended is told twice."""
    start = data.draw(st.integers(0, len(steps)))
    end = data.draw(st.integers(start, len(steps)))
    whole, cut = Watcher(), Watcher()
    tcp = Tcp(uid="uid-walk")
    whole.see(tcp, "ADDED")
    if start or data.draw(st.booleans()):
        cut.see(tcp, "ADDED")
    settled = False
    for number, step in enumerate(steps):
        apply(tcp, step)
        whole.see(tcp)
        if number == end:
            cut.relist(tcp)
        elif not start <= number < end:
            cut.see(tcp)
        settled = number >= end and (settled or _word(tcp) in DECISIVE)
        if settled:
            assert _state(cut) == _state(whole)
    assert max(Counter(decision.id for decision in cut.said).values(), default=1) == 1
    _check_no_operation_ends_twice(cut.said)


def _word(tcp: Tcp) -> str:
    resources = tcp.object.get("status", {}).get("kubernetesResources", {})
    return str(resources.get("version", {}).get("status", ""))


def _state(watcher: Watcher) -> tuple[bool, bool, bool] | None:
    memories = watcher.fleet.living()
    if not memories:
        return None
    (memory,) = memories
    return memory.created, memory.ready is True, memory.facts.paused


def _check_no_operation_ends_twice(said: list[Decision]) -> None:
    ended = [
        decision.operation.id
        for decision in said
        if decision.operation is not None and decision.name.partition(".")[2] in _ENDS
    ]
    assert len(ended) == len(set(ended))


@given(wild_lives(), st.integers(0, 25))
def test_a_restart_says_what_would_have_been_said(steps: list[Step], at: int) -> None:
    """The memory is all that a decision depends on."""
    one, other = Watcher(Store()), Watcher(Store())
    tcp = Tcp(uid="uid-walk")
    for watcher in (one, other):
        watcher.see(tcp, "ADDED")
    for number, step in enumerate(steps):
        apply(tcp, step)
        if number == at:
            other.restart()
        for watcher in (one, other):
            watcher.see(tcp, after=30.0)
            watcher.wait(30.0)
    assert other.said == one.said
