"""The states that workers agree on: claims, leases, held events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers import record as r
from consumers.state import States, Status, SubscriptionState, fold

DECLARED = r.Declared(subscription="s", at=0, by="w", group="g", version=1, kind="shared", keys=("k",))
PAUSED = r.Paused(subscription="s", at=1, by="a", error="down", probe_at=6)


def _claim(by: str, at: float, until: float) -> r.ProbeClaimed:
    return r.ProbeClaimed(subscription="s", at=at, by=by, until=until)


def _states(*records: r.Record) -> States:
    states: States = {}
    for record in records:
        states = fold(states, record)
    return states


def _after(*records: r.Record) -> SubscriptionState:
    return _states(*records).get("s", SubscriptionState())


def test_of_two_that_claim_the_probe_the_first_wins() -> None:
    """The place in the stream decides, for everyone."""
    assert _after(DECLARED, PAUSED, _claim("a", 6, 60), _claim("b", 6, 60)).prober == "a"


def test_a_claim_ends_with_its_lease() -> None:
    """A dead prober is followed by another."""
    assert _after(DECLARED, PAUSED, _claim("a", 6, 60), _claim("b", 60, 90)).prober == "b"


def test_only_the_prober_may_say_that_the_probe_failed() -> None:
    """A late word of a former prober changes nothing."""
    late = r.ProbeFailed(subscription="s", at=70, by="b", error="still", probe_at=99, until=120)
    state = _after(DECLARED, PAUSED, _claim("a", 6, 60), late)
    assert (state.probes, state.probe_at) == (0, 6)


def test_a_second_pause_changes_nothing() -> None:
    """Two workers see the same receiver fail: one pause, one event."""
    again = r.Paused(subscription="s", at=2, by="b", error="too", probe_at=99)
    assert _after(DECLARED, PAUSED, again) == _after(DECLARED, PAUSED)


def test_a_pause_does_not_enable_what_is_disabled() -> None:
    """410 outlives failures; a person's resume ends it."""
    gone = r.Disabled(subscription="s", at=2, by="a", error="410")
    assert _after(DECLARED, gone, PAUSED).status is Status.DISABLED
    resumed = r.Resumed(subscription="s", at=3, by="me")
    assert _after(DECLARED, gone, PAUSED, resumed).status is Status.ACTIVE


def test_a_changed_kind_drains_the_old_version() -> None:
    """Another version becomes the queue, the former one is drained until it is dropped."""
    second = r.Declared(subscription="s", at=5, by="w", group="g", version=2, kind="single", keys=("k",))
    state = _after(DECLARED, second)
    assert (state.version, state.old) == (2, (1,))
    assert _after(DECLARED, second, r.Drained(subscription="s", at=9, version=1)).old == ()


def test_an_earlier_event_blocks_its_own_object_only() -> None:
    """Held events block what comes later of the same object, until they are released."""
    held = r.Held(subscription="s", at=1, object="o", sequence="1", due=50)
    state = _after(DECLARED, held)
    assert state.blocked_by("o", "2") == ("1", 50)
    assert state.blocked_by("o", "1") is None
    assert state.blocked_by("p", "2") is None
    released = r.Released(subscription="s", at=2, object="o", sequence="1")
    assert _after(DECLARED, held, released).held == {}


def test_catching_up_is_one_workers_business() -> None:
    """Claims, progress and the end count only from the worker that has the lease."""
    suspended = r.Suspended(subscription="s", at=10, by="a", error="quota")
    bound = r.Bound(subscription="s", at=20, by="a", since=9, until_id="x")
    claim = r.CatchUpClaimed(subscription="s", at=21, by="a", until=80)
    other = r.CatchUpClaimed(subscription="s", at=22, by="b", until=80)
    moved = r.CatchUpMoved(subscription="s", at=23, by="b", offset=99, until=90)
    state = _after(DECLARED, suspended, bound, claim, other, moved)
    assert state.suspended is None
    assert state.catch_up is not None
    assert (state.catch_up.worker, state.catch_up.offset) == ("a", -1)
    assert _after(DECLARED, suspended, bound, claim, r.CaughtUp(subscription="s", at=30, by="b")).catch_up is not None
    assert _after(DECLARED, suspended, bound, claim, r.CaughtUp(subscription="s", at=30, by="a")).catch_up is None


def test_only_the_first_of_two_bindings_counts() -> None:
    """Two workers bind a suspended subscription again: its catch-up is not begun twice."""
    suspended = r.Suspended(subscription="s", at=10, by="a", error="quota")
    first = r.Bound(subscription="s", at=20, by="a", since=9, until_id="x")
    second = r.Bound(subscription="s", at=21, by="b", since=9, until_id="y")
    assert _after(DECLARED, suspended, first, second) == _after(DECLARED, suspended, first)


_words = st.sampled_from(["a", "b"])
_times = st.floats(0, 100)
_records = st.one_of(
    st.builds(r.Paused, subscription=st.just("s"), at=_times, by=_words, error=_words, probe_at=_times),
    st.builds(r.ProbeClaimed, subscription=st.just("s"), at=_times, by=_words, until=_times),
    st.builds(
        r.ProbeFailed, subscription=st.just("s"), at=_times, by=_words, error=_words, probe_at=_times, until=_times
    ),
    st.builds(r.Resumed, subscription=st.just("s"), at=_times, by=_words),
    st.builds(r.Disabled, subscription=st.just("s"), at=_times, by=_words, error=_words),
    st.builds(r.Held, subscription=st.just("s"), at=_times, object=_words, sequence=_words, due=_times),
    st.builds(r.Released, subscription=st.just("s"), at=_times, object=_words, sequence=_words),
    st.builds(r.Forgotten, subscription=st.just("s"), at=_times),
)


@given(st.lists(_records, max_size=20))
def test_records_survive_encoding_and_folding_never_fails(records: list[r.Record]) -> None:
    """Whatever the order, each record is read back as it was and gives a state."""
    assert [r.decode_record(r.encode_record(record)) for record in records] == records
    state = _after(*records)
    assert state.status in Status
    assert all(state.held.values())


def test_a_record_of_a_newer_release_is_none() -> None:
    """Unknown types and garbage are left aside by the reader."""
    assert r.decode_record(b'{"type":"Danced","subscription":"s","at":1}') is None
    assert r.decode_record(b"\xff") is None


@pytest.mark.parametrize("kind", [r.Removed, r.Forgotten])
def test_what_leaves_the_file_is_marked_and_what_is_pruned_is_forgotten(kind: type[r.Removed | r.Forgotten]) -> None:
    """Removed keeps the state, forgotten drops it."""
    states = _states(DECLARED, kind(subscription="s", at=9))
    assert ("s" in states) == (kind is r.Removed)
