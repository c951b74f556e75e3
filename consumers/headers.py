"""Our own message headers: the memory of an event's tries, carried with it through the broker.

``x-`` headers belong to the broker and never travel: a message that is published again takes none of them along
(3.10 sees a cycle in its own ``x-death`` and keeps the message for ever). Only what is read here counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["MARKER", "REDRIVEN", "Death", "Travel", "foreign", "redriven"]

_TRIES = "kamaji-tries"
_THROTTLED = "kamaji-throttled"
_FIRST = "kamaji-first-failure"
_LAST = "kamaji-last-error"
_DUE = "kamaji-not-before"
_CAUGHT = "kamaji-catch-up"
_DIED = "kamaji-died"
_WHY = "kamaji-died-why"
_ERROR = "kamaji-died-error"
_FOR = "kamaji-died-for"
MARKER = "kamaji-marker"
"""On a worker's own mark in a queue, never on an event."""
REDRIVEN = "kamaji-redriven"
"""A person sent the event again: the filter is not asked. Stays with the event."""

_OURS = frozenset((_TRIES, _THROTTLED, _FIRST, _LAST, _DUE, _CAUGHT, _DIED, _WHY, _ERROR, _FOR, MARKER))
_ERROR_LENGTH = 500


def _number(headers: Mapping[str, Any], name: str) -> float | None:
    value = headers.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _moment(headers: Mapping[str, Any], name: str) -> float | None:
    value = _number(headers, name)
    return None if value is None else value / 1000


def _ms(seconds: float | None) -> int | None:
    """Whole milliseconds: the client sends a float in 32 bits, which is minutes wrong for a time of today."""
    return None if seconds is None else round(seconds * 1000)


def _count(headers: Mapping[str, Any], name: str) -> int:
    return max(0, int(_number(headers, name) or 0))


def _text(headers: Mapping[str, Any], name: str) -> str:
    value = headers.get(name)
    return value.decode(errors="replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def redriven(headers: Mapping[str, Any]) -> bool:
    """True for an event that a person sent to this subscription."""
    return bool(headers.get(REDRIVEN))


def foreign(headers: Mapping[str, Any]) -> dict[str, Any]:
    """What others put on the message and may go on travelling: neither ours nor the broker's."""
    return {name: value for name, value in headers.items() if name not in _OURS and not name.startswith("x-")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Travel:
    """What an event went through on its way to one subscription. Times are seconds since 1970."""

    tries: int = 0
    """Counted tries that failed."""
    throttled: int = 0
    """Tries that a receiver answered by asking to slow down; they are not counted as tries."""
    first_failure: float | None = None
    last_error: str = ""
    not_before: float | None = None
    """The next try is due then; None for an event that never failed."""
    catch_up: bool = False
    """The copy was read from the history."""

    @classmethod
    def read(cls, headers: Mapping[str, Any]) -> "Travel":
        """Read a message's headers; what is missing or malformed counts as never having happened."""
        return cls(
            tries=_count(headers, _TRIES),
            throttled=_count(headers, _THROTTLED),
            first_failure=_moment(headers, _FIRST),
            last_error=_text(headers, _LAST),
            not_before=_moment(headers, _DUE),
            catch_up=bool(headers.get(_CAUGHT)),
        )

    def write(self) -> dict[str, Any]:
        """Headers of the next copy."""
        found: dict[str, Any] = {_TRIES: self.tries, _THROTTLED: self.throttled, _CAUGHT: self.catch_up or None}
        found |= {_FIRST: _ms(self.first_failure), _LAST: self.last_error[:_ERROR_LENGTH], _DUE: _ms(self.not_before)}
        return {name: value for name, value in found.items() if value not in (None, "", 0)}

    def failed(self, now: float, error: str, *, due: float, counts: bool) -> "Travel":
        """After a try that failed (``counts``), or that the receiver asked to repeat later."""
        return replace(
            self,
            tries=self.tries + counts,
            throttled=self.throttled + (not counts),
            first_failure=self.first_failure if self.first_failure is not None else now,
            last_error=error,
            not_before=due,
        )

    def ended(self, *, counts: bool) -> "Travel":
        """After the last try."""
        return replace(self, tries=self.tries + counts)

    def postponed(self, due: float) -> "Travel":
        """Put off without a try."""
        return replace(self, not_before=due)


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """Why and when an event became a dead letter of a subscription."""

    subscription: str
    why: str
    """``TriesUsedUp``, ``TooOld``, ``Rejected`` or ``Unreadable``; ``DeliveryLimit`` when the broker gave up."""
    error: str
    at: float

    def write(self) -> dict[str, Any]:
        """Headers that are stored with the dead letter."""
        return {_FOR: self.subscription, _WHY: self.why, _ERROR: self.error[:_ERROR_LENGTH], _DIED: _ms(self.at)}

    @classmethod
    def read(cls, headers: Mapping[str, Any], *, subscription: str = "") -> "Death":
        """Read a dead letter's headers; one that the broker itself gave up on has only ``x-death``."""
        why = _text(headers, _WHY) or ("DeliveryLimit" if _broker_gave_up(headers) else "Unknown")
        return cls(
            subscription=_text(headers, _FOR) or subscription,
            why=why,
            error=_text(headers, _ERROR) or _text(headers, _LAST),
            at=_moment(headers, _DIED) or _died_at(headers),
        )


def _deaths(headers: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    deaths = headers.get("x-death")
    return [death for death in deaths if isinstance(death, Mapping)] if isinstance(deaths, list) else []


def _broker_gave_up(headers: Mapping[str, Any]) -> bool:
    return any(death.get("reason") in ("delivery_limit", b"delivery_limit") for death in _deaths(headers))


def _died_at(headers: Mapping[str, Any]) -> float:
    for death in _deaths(headers):
        moment = death.get("time")
        if moment is not None and hasattr(moment, "timestamp"):
            return float(moment.timestamp())
    return 0.0
