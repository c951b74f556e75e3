"""An event as a line for people."""

import json
from typing import Any

import pytest

from kamaji_events.cli.lines import duration, line
from kamaji_events.event import Event


def _event(name: str = "tenantcontrolplane.upgrade.completed", **data: Any) -> Event:
    return Event.from_bytes(
        json.dumps(
            {
                "specversion": "1.0",
                "id": "1",
                "source": "/kamaji/eu-1",
                "type": f"io.clastix.kamaji.{name}",
                "subject": "tenants/acme",
                "time": "2026-12-01T14:08:09.000Z",
                "kamajicluster": "eu-1",
                "data": data,
            }
        ).encode()
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.42, "0.4s"), (12, "12s"), (59.6, "1m00s"), (130, "2m10s"), (11_100, "3h05m"), (187_200, "2d04h")],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    """Two units at most."""
    assert duration(seconds) == text


def test_an_operation_tells_from_to_and_how_long() -> None:
    """What makes an end worth reading."""
    operation = {"from": "v1.34.1", "to": "v1.35.0", "durationSeconds": 74.2}

    text = line(_event(operation=operation, severity="notice", reconstructed=True), colour=False)

    assert "upgrade.completed" in text
    assert "tenants/acme" in text
    assert "v1.34.1 -> v1.35.0; took 1m14s; reconstructed" in text
    assert text.endswith("eu-1")
    assert "\x1b" not in text


def test_colour_goes_by_severity() -> None:
    """Warnings are yellow, critical ones red and bold."""
    assert "\x1b[33m" in line(_event(severity="warning"), colour=True)
    assert "\x1b[1;31m" in line(_event(severity="critical"), colour=True)


def test_what_an_object_says_cannot_steer_the_terminal() -> None:
    """Control characters in a reason become spaces."""
    text = line(_event(reason={"word": "X", "message": "evil\x1b[2J\nline"}), colour=False)

    assert "\x1b" not in text
    assert "\n" not in text


def test_blockers_and_other_kinds_are_told() -> None:
    """A stalled operation says what holds it; a DataStore's event names its kind."""
    assert "no endpoint, paused" in line(
        _event("tenantcontrolplane.create.stalled", blockers=[{"message": "no endpoint"}, "paused"]), colour=False
    )
    assert "datastore state.notready" in line(_event("datastore.state.notready"), colour=False)


@pytest.mark.parametrize("data", [{"operation": 3, "reason": "x", "blockers": {}, "change": []}, {}])
def test_odd_data_breaks_nothing(data: dict[str, Any]) -> None:
    """A line comes of whatever stands in data."""
    assert "tenants/acme" in line(_event(**data), colour=False)
