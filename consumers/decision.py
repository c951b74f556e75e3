"""What to do with an event after a try: one pure function, one table.

=================  =========================================  ==========================================================
outcome            when                                       decision
=================  =========================================  ==========================================================
Delivered          always                                     Ack
Failed             the try was a probe                        StayPaused: nothing is counted
Failed             tries left                                 Retry after the policy's delay, or Retry-After if longer
Failed             the next try would be past the max age     Retry at the max age: a last try
Failed             tries used up                              DeadLetter TriesUsedUp
Failed             older than the max age                     DeadLetter TooOld
Throttled          not too old                                Slow: Retry-After or a growing delay, not counted as a try
Throttled          older than the max age                     DeadLetter TooOld
Rejected           always                                     DeadLetter Rejected
Gone               always                                     Disable: the event waits, nothing is counted
=================  =========================================  ==========================================================

Retry-After is honoured up to the policy's cap. Delays are spread by a number drawn from the event's id and the
try: the same event gives the same delay, different events do not come back all at once.
"""

from dataclasses import dataclass
from hashlib import blake2b

from consumers.headers import Travel
from consumers.policy import Policy
from consumers.sinks.base import Delivered, Failed, Gone, Outcome, Rejected, Throttled

__all__ = ["Ack", "DeadLetter", "Decision", "Disable", "Retry", "Slow", "StayPaused", "decide"]


@dataclass(frozen=True, slots=True)
class Ack:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again later; the try counts."""

    after: float
    """Seconds."""
    error: str


@dataclass(frozen=True, slots=True)
class Slow:
    """Try again later without counting, and slow the whole subscription down until then."""

    after: float
    """Seconds."""
    error: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Give the event up for this subscription."""

    why: str
    """``TriesUsedUp``, ``TooOld`` or ``Rejected``."""
    error: str


@dataclass(frozen=True, slots=True)
class StayPaused:
    """The probe failed: the receiver is still down."""

    error: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Disable:
    """The receiver wants nothing any more: stop until a person resumes the subscription."""

    error: str


Decision = Ack | Retry | Slow | DeadLetter | StayPaused | Disable

_FIRST_SLOW = 5.0
_MOST_SLOW = 600.0


def _spread(delay: float, share: float, event_id: str, tries: int) -> float:
    """The delay within ``share`` of itself to both sides, by a hash of the event and the try."""
    drawn = int.from_bytes(blake2b(f"{event_id}/{tries}".encode(), digest_size=8).digest()) / 2**64
    return delay * (1 + share * (2 * drawn - 1))


def _asked(retry_after: float | None, policy: Policy) -> float:
    return min(max(retry_after or 0.0, 0.0), policy.retry_after_cap)


def _retry(failed: Failed, travel: Travel, policy: Policy, now: float, event_id: str) -> Decision:
    tries = travel.tries + 1
    if tries >= policy.tries:
        return DeadLetter("TriesUsedUp", failed.error)
    age = now - travel.first_failure if travel.first_failure is not None else 0.0
    if age >= policy.max_age:
        return DeadLetter("TooOld", failed.error)
    delay = policy.delays[min(tries, len(policy.delays)) - 1] if policy.delays else 0.0
    after = max(_spread(delay, policy.jitter, event_id, tries), _asked(failed.retry_after, policy))
    return Retry(min(after, policy.max_age - age), failed.error)


def _slow(throttled: Throttled, travel: Travel, policy: Policy, now: float, event_id: str) -> Decision:
    if travel.first_failure is not None and now - travel.first_failure >= policy.max_age:
        return DeadLetter("TooOld", throttled.error)
    if throttled.retry_after is not None:
        return Slow(_asked(throttled.retry_after, policy), throttled.error)
    grown = min(_FIRST_SLOW * 2 ** min(travel.throttled, 10), _MOST_SLOW, policy.retry_after_cap)
    return Slow(_spread(grown, policy.jitter, event_id, travel.throttled), throttled.error)


def decide(
    outcome: Outcome, travel: Travel, policy: Policy, now: float, *, event_id: str, probe: bool = False
) -> Decision:
    """What to do after a try.

    Args:
        outcome: what the sink reports.
        travel: what the event went through before this try.
        policy: the subscription's.
        now: seconds since 1970.
        event_id: spreads the delays.
        probe: the try asked a paused subscription's receiver whether it is back.
    """
    match outcome:
        case Delivered():
            return Ack()
        case Failed() if probe:
            return StayPaused(outcome.error, outcome.retry_after)
        case Failed():
            return _retry(outcome, travel, policy, now, event_id)
        case Throttled():
            return _slow(outcome, travel, policy, now, event_id)
        case Rejected():
            return DeadLetter("Rejected", outcome.error)
        case Gone():
            return Disable(outcome.error)
