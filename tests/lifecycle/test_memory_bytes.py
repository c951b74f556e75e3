"""What is remembered stands in journals that outlive a release: names, tags and defaults are their format.

Defaults are left out of the bytes, so another default would be another meaning of what was written.
"""

import msgspec
import pytest
from msgspec import structs

from publisher.lifecycle.facts import AccessPoint, Facts, Trouble
from publisher.lifecycle.looks import LookKind
from publisher.lifecycle.memory import Farewell, LoopMemory, ObjectMemory, OpenOperation, StoreMemory, TcpMemory
from publisher.lifecycle.policy import DEFAULT_LIMITS, Policy

_TCP = {"type": "tcp", "uid": "u", "namespace": "n", "name": "a", "version": "1"}
_EMPTY: tuple[object, ...] = (0, 0.0, False, None, "", (), [], {})


def _said(found: msgspec.Struct) -> dict[str, object]:
    """Its members that are not simply empty."""
    return {name: value for name, value in structs.asdict(found).items() if value not in _EMPTY}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Facts(), {"replicas": -1, "wanted": 2}),
        (LoopMemory(), {}),
        (Farewell(gone=9.0), {"gone": 9.0}),
        (
            OpenOperation(kind="k", asked_by="b", epoch=3, opened=9.0),
            {"kind": "k", "asked_by": "b", "epoch": 3, "opened": 9.0},
        ),
        (StoreMemory(uid="u", name="a", version="3"), {"uid": "u", "name": "a", "version": "3", "epoch": 1}),
    ],
)
def test_what_is_not_written_is_empty(found: msgspec.Struct, said: dict[str, object]) -> None:
    """But for these."""
    assert _said(found) == said


def test_a_memory_of_a_tenant_is_empty_where_nothing_is_written() -> None:
    """Its epoch is the first."""
    found = TcpMemory(uid="u", namespace="n", name="a", version="3")
    facts, digest = found.facts, found.spec
    said = _said(found)
    assert (said.pop("facts"), said.pop("spec")) == (facts, digest)
    assert said == {"uid": "u", "namespace": "n", "name": "a", "version": "3", "epoch": 1}
    assert facts == Facts()


def test_only_what_is_not_empty_is_written() -> None:
    """Ten thousand objects are remembered."""
    tcp = TcpMemory(uid="u", namespace="n", name="a", version="1")
    assert msgspec.to_builtins(tcp) == {**_TCP, "facts": {}, "spec": [(), ""]}
    store = StoreMemory(uid="u", name="a", version="1")
    assert msgspec.to_builtins(store) == {"type": "store", "uid": "u", "name": "a", "version": "1"}
    operation = OpenOperation(kind="k", asked_by="b", epoch=3, opened=9.0)
    assert msgspec.to_builtins(operation) == {"kind": "k", "asked_by": "b", "epoch": 3, "opened": 9.0}
    assert msgspec.to_builtins(Farewell(gone=9.0)) == {"gone": 9.0}
    assert msgspec.to_builtins(LoopMemory()) == {}
    assert msgspec.to_builtins(Trouble("t", "s", "r", "m")) == ["t", "s", "r", "m"]
    assert msgspec.to_builtins(AccessPoint("v", 1)) == ["v", 1, ()]


def test_the_least_that_was_written_is_read() -> None:
    """By its tag."""
    assert msgspec.convert(_TCP, ObjectMemory) == TcpMemory(uid="u", namespace="n", name="a", version="1")
    store = {"type": "store", "uid": "u", "name": "a", "version": "1"}
    assert msgspec.convert(store, ObjectMemory) == StoreMemory(uid="u", name="a", version="1")


def test_the_limits_are_the_contracts() -> None:
    """Those that are not configured too."""
    assert DEFAULT_LIMITS == {
        "create": 600,
        "upgrade": 900,
        "migrate": 1800,
        "scale": 600,
        "sleep": 600,
        "wake": 600,
        "rotation": 600,
        "delete": 300,
    }
    assert Policy().limits == DEFAULT_LIMITS
    assert Policy(limits={"scale": 1.0}).limit("wake") == 600
    assert (Policy().outage_hold, Policy().usage_wait, Policy().announce_existing) == (60.0, 5.0, False)


def test_questions_have_a_word() -> None:
    """Logs and metrics name them by it."""
    assert [str(kind) for kind in LookKind] == ["cleanup", "migrate-job"]
