"""The recordings of the real operator, and what is expected of them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from kamaji_events.envelope import Message
from kamaji_events.event import Event

__all__ = ["CLOCK_DECIDED", "RECORDINGS", "Told", "expected", "names", "told_by_object"]

RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"

CLOCK_DECIDED = frozenset({"outage.started", "outage.ended", "state.looping", "state.settled"})

Told = list[tuple[str, int | None]]
"""Events in order, each with the resourceVersion that it is concluded from."""


def names() -> list[str]:
    """Names of the recordings."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDINGS.glob("*.jsonl.gz"))


def expected(name: str) -> dict[str, Told]:
    """What a recording must give, by object."""
    read = json.loads((RECORDINGS / f"{name}.expected.json").read_text())
    return {key: [(event, version) for event, version in told] for key, told in read["objects"].items()}


def told_by_object(messages: Iterable[Message]) -> dict[str, Told]:
    """Events of TenantControlPlanes that no clock decided, by object; namesakes are numbered."""
    told: dict[tuple[str, str], Told] = {}
    uids: dict[str, list[str]] = {}
    for event in _comparable(messages):
        subject, uid = event.subject or "", str(event.partitionkey)
        if uid not in uids.setdefault(subject, []):
            uids[subject].append(uid)
        version = event.data["object"]["resourceVersion"]
        told.setdefault((subject, uid), []).append((event.name, None if version is None else int(version)))
    return {
        subject if len(uids[subject]) == 1 else f"{subject}#{uids[subject].index(uid) + 1}": events
        for (subject, uid), events in told.items()
    }


def _comparable(messages: Iterable[Message]) -> Iterator[Event]:
    for message in messages:
        event = Event.from_bytes(message.body)
        if event.kind == "tenantcontrolplane" and event.name not in CLOCK_DECIDED and "stalled" not in event.name:
            yield event
