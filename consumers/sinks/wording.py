"""Events in words for people: what chat messages and templates show."""

from collections.abc import Mapping
from typing import Any

from kamaji_events.catalogue import by_type
from kamaji_events.event import Event

__all__ = ["duration", "headline", "meaning", "place"]

_ODD = {"notready": "not ready"}


def duration(seconds: float) -> str:
    """A length of time in two units at most: ``45 s``, ``1 min 23 s``, ``2 h 5 min``, ``3 d``."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def place(event: Event) -> str:
    """Whom it is about: ``tenants/acme on eu-1``."""
    cluster = event.cluster
    about = event.subject or event.source
    return f"{about} on {cluster}" if cluster and cluster != "_" else about


def meaning(event: Event) -> str:
    """What the catalogue says of the event; empty for one that this release does not know."""
    row = by_type(event.type)
    return row.meaning if row else ""


def headline(event: Event) -> str:
    """One line without the object's name: ``Upgrade completed: v1.31.4 → v1.32.0 in 1 min 23 s``."""
    first, _, second = event.name.partition(".")
    words = f"{first} {_ODD.get(second, second)}" if first != "state" else _ODD.get(second, second)
    line = words[:1].upper() + words[1:]
    details = _details(event.data)
    return f"{line}: {details}" if details else line


def _details(data: Mapping[str, Any]) -> str:
    change = data.get("operation") or data.get("change")
    change = change if isinstance(change, Mapping) else {}
    old, new = _text(change.get("from")), _text(change.get("to"))
    told = f"{old} → {new}" if old and new else new
    length = change.get("durationSeconds", data.get("durationSeconds"))
    if isinstance(length, (int, float)) and not isinstance(length, bool):
        told = f"{told} in {duration(length)}" if told else f"after {duration(length)}"
    return told


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
