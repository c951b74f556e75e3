"""The decision table, row by row."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.decision import Ack, DeadLetter, Decision, Disable, Retry, Slow, StayPaused, decide
from consumers.headers import Travel
from consumers.policy import DEFAULT_DELAYS, Policy
from consumers.sinks.base import Delivered, Failed, Gone, Outcome, Rejected, Throttled

NOW = 1_000_000.0
EXACT = Policy(jitter=0.0)
FRESH = Travel()
SECOND = Travel(tries=1, first_failure=NOW - 5)
OLD = Travel(tries=3, first_failure=NOW - EXACT.max_age)
NEARLY_OLD = Travel(tries=9, first_failure=NOW - EXACT.max_age + 60)
NINTH = Travel(tries=9, first_failure=NOW - 80_000)
SLOWED = Travel(throttled=3, first_failure=NOW - 60)

TABLE: list[tuple[str, Outcome, Travel, Decision]] = [
    ("delivered", Delivered(), FRESH, Ack()),
    ("delivered late", Delivered(), OLD, Ack()),
    ("first failure", Failed("x"), FRESH, Retry(5.0, "x")),
    ("second failure", Failed("x"), SECOND, Retry(30.0, "x")),
    ("ninth failure", Failed("x"), replace(NINTH, tries=8), Retry(43200.0, "x")),
    ("a longer Retry-After", Failed("x", retry_after=90.0), FRESH, Retry(90.0, "x")),
    ("a shorter Retry-After", Failed("x", retry_after=1.0), SECOND, Retry(30.0, "x")),
    ("a Retry-After over the cap", Failed("x", retry_after=1e9), FRESH, Retry(3600.0, "x")),
    ("a negative Retry-After", Failed("x", retry_after=-5.0), FRESH, Retry(5.0, "x")),
    ("tries used up", Failed("x"), NINTH, DeadLetter("TriesUsedUp", "x")),
    ("too old", Failed("x"), OLD, DeadLetter("TooOld", "x")),
    ("one last try at the max age", Failed("x"), replace(NEARLY_OLD, tries=7), Retry(60.0, "x")),
    ("throttled with Retry-After", Throttled("x", retry_after=7.0), FRESH, Slow(7.0, "x")),
    ("throttled for longer than the cap", Throttled("x", retry_after=1e9), FRESH, Slow(3600.0, "x")),
    ("throttled without", Throttled("x"), FRESH, Slow(5.0, "x")),
    ("throttled again and again", Throttled("x"), SLOWED, Slow(40.0, "x")),
    ("throttled uses up no tries", Throttled("x"), NINTH, Slow(5.0, "x")),
    ("throttled and too old", Throttled("x"), OLD, DeadLetter("TooOld", "x")),
    ("rejected", Rejected("x"), FRESH, DeadLetter("Rejected", "x")),
    ("gone", Gone("x"), FRESH, Disable("x")),
    ("gone, with tries used up", Gone("x"), NINTH, Disable("x")),
]


@pytest.mark.parametrize(("outcome", "travel", "wanted"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_each_row(outcome: Outcome, travel: Travel, wanted: Decision) -> None:
    """Each row of the table gives its decision."""
    assert decide(outcome, travel, EXACT, NOW, event_id="e") == wanted


@pytest.mark.parametrize(
    ("outcome", "wanted"),
    [
        (Failed("x", retry_after=9.0), StayPaused("x", 9.0)),
        (Delivered(), Ack()),
        (Rejected("x"), DeadLetter("Rejected", "x")),
        (Gone("x"), Disable("x")),
        (Throttled("x", retry_after=3.0), Slow(3.0, "x")),
    ],
)
def test_a_probe_that_fails_counts_nothing(outcome: Outcome, wanted: Decision) -> None:
    """A failed probe leaves the subscription paused, even when tries are used up; an answer settles the event."""
    assert decide(outcome, NINTH, EXACT, NOW, event_id="e", probe=True) == wanted


def test_every_default_delay_is_used_once_and_then_the_event_dies() -> None:
    """Ten tries: nine delays between them."""
    travel, waits = FRESH, []
    now = NOW
    while isinstance(decision := decide(Failed("x"), travel, EXACT, now, event_id="e"), Retry):
        waits.append(decision.after)
        travel = travel.failed(now, "x", due=now + decision.after, counts=True)
        now += decision.after
    assert tuple(waits) == DEFAULT_DELAYS
    assert decision == DeadLetter("TriesUsedUp", "x")


def test_the_last_delay_repeats_when_there_are_more_tries() -> None:
    """Two delays and five tries."""
    policy = Policy(delays=(1.0, 2.0), tries=5, jitter=0.0)
    waits = [decide(Failed("x"), Travel(tries=done), policy, NOW, event_id="e") for done in range(5)]
    expected: list[Decision] = [Retry(1.0, "x"), Retry(2.0, "x"), Retry(2.0, "x"), Retry(2.0, "x")]
    assert waits == [*expected, DeadLetter("TriesUsedUp", "x")]


@given(event_id=st.text(min_size=1), tries=st.integers(0, 8))
def test_jitter_stays_in_its_share_and_is_the_same_for_the_same_try(event_id: str, tries: int) -> None:
    """The delay is spread by at most a tenth, by a function of the event and the try alone."""
    decision = decide(Failed("x"), Travel(tries=tries), Policy(), NOW, event_id=event_id)
    assert isinstance(decision, Retry)
    assert abs(decision.after - DEFAULT_DELAYS[tries]) <= DEFAULT_DELAYS[tries] * 0.1
    assert decide(Failed("x"), Travel(tries=tries), Policy(), NOW, event_id=event_id) == decision


@given(
    retry_after=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    tries=st.integers(0, 20),
    age=st.none() | st.floats(0, 1e7),
)
def test_no_decision_waits_for_less_than_nothing_or_past_the_max_age(
    retry_after: float | None, tries: int, age: float | None
) -> None:
    """Whatever the receiver says, waits are finite, not negative, and end by the maximum age."""
    travel = Travel(tries=tries, first_failure=None if age is None else NOW - age)
    for outcome in (Failed("x", retry_after=retry_after), Throttled("x", retry_after=retry_after)):
        decision = decide(outcome, travel, Policy(), NOW, event_id="e")
        if isinstance(decision, Retry | Slow):
            assert 0 <= decision.after <= max(Policy().retry_after_cap, DEFAULT_DELAYS[-1] * 1.1)
        if isinstance(decision, Retry) and age is not None:
            assert age + decision.after <= Policy().max_age * (1 + 1e-9)
