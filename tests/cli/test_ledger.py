"""The demo's ledger: gaps, doubles and latencies."""

import json

import pytest

from kamaji_events.cli.demo.ledger import Ledger, percentile
from kamaji_events.event import Event


def _event(name: str, counter: int, *, operation: str | None = None, version: str = "1") -> Event:
    attributes = {
        "specversion": "1.0",
        "id": f"{name}.{counter}",
        "source": "/kamaji/demo",
        "type": f"io.clastix.kamaji.tenantcontrolplane.{name}",
        "partitionkey": "u",
        "sequence": f"000001-{counter:014d}",
        "data": {"object": {"resourceVersion": version}},
        **({"operationid": operation} if operation else {}),
    }
    return Event.from_bytes(json.dumps(attributes).encode())


def _heard(*events: Event) -> Ledger:
    ledger = Ledger()
    for event in events:
        ledger.heard(event, 10.0)
    return ledger


def test_a_clean_run_has_no_problem() -> None:
    """In any order of arrival."""
    ledger = _heard(
        _event("upgrade.completed", 3, operation="u.upgrade.2"),
        _event("upgrade.started", 2, operation="u.upgrade.2"),
        _event("state.ready", 1),
    )

    assert ledger.problems() == []
    assert ledger.operations == 1
    assert ledger.events["state.ready"] == 1


def test_a_gap_is_a_problem() -> None:
    """The object's sequence must be 1 to n."""
    assert "gap" in _heard(_event("state.ready", 1), _event("state.notready", 3)).problems()[0]


@pytest.mark.parametrize("words", [("started", "started"), ("completed", "cancelled"), ("superseded", "superseded")])
def test_an_operation_starts_and_ends_once(words: tuple[str, str]) -> None:
    """Twice is a problem."""
    events = [_event(f"upgrade.{word}", n + 1, operation="u.upgrade.2") for n, word in enumerate(words)]

    assert "u.upgrade.2" in _heard(*events).problems()[0]


def test_latency_counts_from_the_servers_write() -> None:
    """Of events whose state was seen to be written, the first time."""
    ledger = Ledger()
    ledger.wrote("u", "7", 9.5)
    ledger.wrote("u", "7", 9.9)
    ledger.heard(_event("state.ready", 1, version="7"), 10.0)
    ledger.heard(_event("state.notready", 2, version="8"), 10.0)

    assert ledger.latencies == [0.5]


def test_percentiles() -> None:
    """Of a hundred, one, none."""
    assert percentile([float(n) for n in range(100)], 0.5) == 50
    assert percentile([float(n) for n in range(100)], 0.99) == 99
    assert percentile([3.0], 0.99) == 3
    assert percentile([], 0.5) == 0
