"""Delays as hops, and the headers that carry them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.headers import Death, Travel, foreign
from consumers.retry import SLACK, next_tier, tier_hops
from kamaji_events.broker.topology import TIERS


@pytest.mark.parametrize(
    ("delay", "hops"),
    [(0.0, ()), (5.0, (4, 1)), (30.0, (16, 8, 4, 2)), (0.5, (1,)), (43200.0, (32768, 8192, 2048, 128, 64))],
)
def test_a_delay_is_made_of_powers_of_two(delay: float, hops: tuple[int, ...]) -> None:
    """The longest tier that fits comes first."""
    assert tier_hops(delay) == hops


@given(st.floats(0, 10_000_000))
def test_hops_add_up_to_the_delay_and_are_few(delay: float) -> None:
    """Never early by more than the slack, never late by more than a second, at most one hop a tier below the last."""
    hops = tier_hops(delay)
    assert delay - SLACK <= sum(hops) <= delay + 1
    assert sum(1 for hop in hops if hop < TIERS[-1]) <= len(TIERS)


def test_no_tier_is_needed_once_the_time_has_come() -> None:
    """Late or hardly early means now."""
    assert next_tier(-5.0) is None
    assert next_tier(SLACK) is None


_travels = st.builds(
    Travel,
    tries=st.integers(0, 50),
    throttled=st.integers(0, 50),
    first_failure=st.none() | st.integers(1, 2_000_000_000_000).map(lambda ms: ms / 1000),
    last_error=st.text(max_size=100),
    not_before=st.none() | st.integers(1, 2_000_000_000_000).map(lambda ms: ms / 1000),
    catch_up=st.booleans(),
)


@given(_travels)
def test_travel_is_read_as_it_was_written(travel: Travel) -> None:
    """What is written into headers is read back from them, times to the millisecond."""
    assert Travel.read(travel.write()) == travel


@given(_travels)
def test_no_header_holds_a_float(travel: Travel) -> None:
    """A float is sent in 32 bits by pamqp, which is minutes wrong for a time of today."""
    death = Death(subscription="s", why="Rejected", error="x", at=1_764_590_000.123)
    assert not [value for value in (travel.write() | death.write()).values() if isinstance(value, float)]
    assert Death.read(death.write()) == death


def test_broker_headers_and_ours_do_not_travel_on() -> None:
    """Only what others put on the message stays."""
    headers = {"x-death": [], "x-delivery-count": 3, "kamaji-tries": 2, "traceparent": "00-1"}
    assert foreign(headers) == {"traceparent": "00-1"}


@pytest.mark.parametrize("wrong", [{"kamaji-tries": "many"}, {"kamaji-tries": -4}, {"kamaji-not-before": True}, {}])
def test_malformed_headers_count_as_none(wrong: dict[str, object]) -> None:
    """Whoever tampers with headers gets a fresh event, not an exception."""
    assert Travel.read(wrong) == Travel()


def test_a_letter_that_the_broker_gave_up_says_so() -> None:
    """A delivery limit leaves only x-death behind."""
    assert Death.read({"x-death": [{"reason": "delivery_limit"}]}, subscription="s").why == "DeliveryLimit"
