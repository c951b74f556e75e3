"""Durations as settings take them."""

import pytest

from kamaji_events.duration import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("1.5h", 5400.0),
        ("1h30m", 5400.0),
        ("7d", 604800.0),
        ("250ms", 0.25),
        (" 2 min ", 120),
    ],
)
def test_durations_become_seconds(text: str, expected: float) -> None:
    """Numbers with units, alone or one after the other."""
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "5 parsecs", "-3s", "1h-3m", "s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """The text says what to write."""
    with pytest.raises(ValueError, match="write a duration"):
        seconds(text)


def test_numbers_pass_through() -> None:
    """YAML gives numbers: pydantic judges them."""
    assert seconds(12) == 12
