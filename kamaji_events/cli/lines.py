"""An event as one line for people: when, what, where, and what makes it worth reading."""

from collections.abc import Mapping
from typing import Any

from kamaji_events.event import Event

__all__ = ["duration", "line"]

_COLOURS = {"info": "\x1b[2m", "notice": "\x1b[32m", "warning": "\x1b[33m", "critical": "\x1b[1;31m"}
_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def duration(seconds: float) -> str:
    """``0.4s``, ``12s``, ``2m10s``, ``3h05m``, ``2d04h``."""
    if seconds < 10:  # noqa: PLR2004 - tenths matter there
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    for unit, size, below, part in (("m", _MINUTE, "s", 1), ("h", _HOUR, "m", _MINUTE), ("d", _DAY, "h", _HOUR)):
        if unit == "d" or whole < size * (60 if unit == "m" else 24):
            return f"{whole // size}{unit}{whole % size // part:02d}{below}"
    raise AssertionError  # pragma: no cover - the last unit takes everything


def line(event: Event, *, colour: bool) -> str:
    """One line without its newline.

    Args:
        event: any CloudEvent; one that is not of the contract shows its type.
        colour: paint the event's name by severity.
    """
    time = event.time.astimezone().strftime("%H:%M:%S") if event.time else "--:--:--"
    subject = event.subject or "-"
    about = "; ".join(_facts(event))
    name = f"{event.name:22}" if event.kind in ("tenantcontrolplane", "") else f"{event.kind} {event.name}"
    if colour:
        return (
            f"{_DIM}{time}{_RESET}  {_COLOURS.get(event.severity, '')}{name:22}{_RESET}  {subject:32}  {about}"
            f"  {_DIM}{event.cluster or ''}{_RESET}"
        )
    return f"{time}  {event.severity:8}  {name:22}  {subject:32}  {about}  {event.cluster or ''}".rstrip()


def _facts(event: Event) -> list[str]:
    data = event.data
    facts = [_move(data.get("operation")) or _move(data.get("change")), _took(data.get("operation"))]
    facts += [_reason(data.get("reason")), _blockers(data.get("blockers"))]
    facts.append("reconstructed" if data.get("reconstructed") is True else "")
    return [_clean(fact) for fact in facts if fact]


def _move(part: Any) -> str:
    if not isinstance(part, Mapping) or (part.get("from") is None and part.get("to") is None):
        return ""
    ends = [_short(part.get(end)) for end in ("from", "to")]
    return f"{' -> '.join(ends)}".strip()


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004 - a line stays a line


def _took(operation: Any) -> str:
    seconds = operation.get("durationSeconds") if isinstance(operation, Mapping) else None
    return f"took {duration(seconds)}" if isinstance(seconds, (int, float)) else ""


def _reason(reason: Any) -> str:
    if not isinstance(reason, Mapping):
        return ""
    return str(reason.get("message") or reason.get("word") or "")


def _blockers(blockers: Any) -> str:
    if not isinstance(blockers, list):
        return ""
    return ", ".join(str(item.get("message", item)) if isinstance(item, Mapping) else str(item) for item in blockers)


def _clean(text: str) -> str:
    """What an object says reaches the terminal without control characters."""
    return "".join(character if character.isprintable() else " " for character in text)
