"""How hard a subscription tries: its delivery policy as plain numbers."""

from dataclasses import dataclass
from datetime import time
from enum import StrEnum
from zoneinfo import ZoneInfo

__all__ = ["DEFAULT_DELAYS", "Circuit", "Ordering", "Policy", "QuietHours", "Quota"]

DEFAULT_DELAYS: tuple[float, ...] = (5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 10800.0, 21600.0, 43200.0)
"""5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, 12 h: ten tries in not quite a day."""


class Ordering(StrEnum):
    """What is promised about the order of events."""

    NONE = "none"
    """Nothing: ``sequence`` lets the receiver sort."""
    OBJECT = "object"
    """The events of one object arrive in order; a failing one holds back only its own object's."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A daily span in which nothing is delivered: events wait in their queue."""

    start: time
    end: time
    """Before ``start``: the span goes over midnight."""
    zone: ZoneInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """When a receiver counts as down, and how it is asked whether it is back."""

    failures: int = 5
    """Failed tries in a row that pause the subscription; 0 means never."""
    events: int = 3
    """... over at least so many different events, so that one bad event pauses nothing."""
    probe_first: float = 5.0
    """Seconds from the pause to the first probe; each further interval is twice the last."""
    probe_most: float = 600.0
    """Seconds between probes at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What may wait in a subscription's queue; None is no bound."""

    messages: int | None = 1_000_000
    bytes: int | None = 2_000_000_000
    """Judged by the number of waiting messages and the mean size of those seen."""
    age: float | None = None
    """Seconds for which a subscription may stay paused or disabled while its queue is bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A subscription's delivery policy. Lengths of time are seconds."""

    delays: tuple[float, ...] = DEFAULT_DELAYS
    """From one failed try to the next; the last repeats when there are more tries."""
    tries: int = len(DEFAULT_DELAYS) + 1
    """Tries until an event is a dead letter."""
    jitter: float = 0.1
    """Each delay is spread by this share of itself to both sides."""
    max_age: float = 259_200.0
    """From the first failure: an event that old gets one last try and then is a dead letter."""
    timeout: float = 40.0
    """For one try, all of it; sinks have finer ones that end sooner."""
    concurrency: int = 10
    """Tries at a time in one worker."""
    rate: float | None = None
    """Tries a second in one worker, at most."""
    retry_after_cap: float = 3600.0
    """A receiver's Retry-After is honoured up to this."""
    ordering: Ordering = Ordering.NONE
    quiet_hours: tuple[QuietHours, ...] = ()
    circuit: Circuit = Circuit()
    quota: Quota = Quota()
