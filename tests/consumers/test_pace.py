"""Rates, quiet hours and the circuit's arithmetic."""

from datetime import datetime, time
from zoneinfo import ZoneInfo

import pytest

from consumers.breaker import Breaker, probe_interval
from consumers.pace import Pace, quiet_until
from consumers.policy import Circuit, QuietHours

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours(time(22), time(6), BERLIN)
LUNCH = QuietHours(time(12), time(13), BERLIN)


def _at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-12-01T21:59:59", None),
        ("2026-12-01T22:00:00", "2026-12-02T06:00:00"),
        ("2026-12-02T05:59:59", "2026-12-02T06:00:00"),
        ("2026-12-02T06:00:00", None),
        ("2026-12-02T12:30:00", "2026-12-02T13:00:00"),
        ("2026-03-29T01:00:00", "2026-03-29T06:00:00"),
    ],
)
def test_quiet_hours_hold_overnight_and_over_a_change_of_clocks(now: str, end: str | None) -> None:
    """Local time counts; the night that loses an hour ends at six all the same."""
    assert quiet_until((NIGHT, LUNCH), _at(now)) == (None if end is None else _at(end))


class _Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def test_a_rate_spaces_tries_out() -> None:
    """Ten a second: the eleventh goes after one second."""
    clock = _Clock()
    pace = Pace(10.0, clock, sleep=clock.sleep)
    for _ in range(11):
        await pace.wait()
    assert clock.now == pytest.approx(1.0)


async def test_without_a_rate_nothing_waits_but_for_a_hold() -> None:
    """A receiver's wish to wait holds everyone."""
    clock = _Clock()
    pace = Pace(None, clock, sleep=clock.sleep)
    await pace.wait()
    assert clock.now == 0
    pace.hold(7.0)
    assert pace.held
    await pace.wait()
    assert clock.now == pytest.approx(7.0)


def test_one_bad_event_opens_no_circuit() -> None:
    """Failures in a row count only over several events."""
    breaker = Breaker(Circuit(failures=3, events=2))
    assert [breaker.failed("a") for _ in range(9)] == [False] * 9
    assert breaker.failed("b")


def test_an_answer_closes_the_count() -> None:
    """One delivery between failures starts the count again."""
    breaker = Breaker(Circuit(failures=2, events=2))
    assert not breaker.failed("a")
    breaker.answered()
    assert not breaker.failed("b")
    assert breaker.failed("c")


def test_a_circuit_can_be_switched_off() -> None:
    """No number of failures pauses anything."""
    breaker = Breaker(Circuit(failures=0, events=1))
    assert not any(breaker.failed(str(number)) for number in range(100))


def test_probes_come_at_growing_intervals_up_to_the_most() -> None:
    """Twice the last, then the bound."""
    circuit = Circuit(probe_first=5.0, probe_most=60.0)
    assert [probe_interval(circuit, done) for done in (0, 1, 2, 3, 4, 10_000)] == [5, 10, 20, 40, 60, 60]
