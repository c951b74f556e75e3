"""What a sink is: one method and ``aclose``.

A sink tries once and reports what came of it. It never waits, retries or acknowledges: one pure function decides
about that (``consumers.decision``), and the broker keeps the time.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kamaji_events.event import Event

__all__ = ["Delivered", "Delivery", "Failed", "Gone", "Outcome", "Rejected", "Sink", "Throttled"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one receiver."""

    event: Event
    """Its ``raw`` bytes are those of the queue and of the exchange: send them, never a new serialisation."""
    subscription: str
    attempt: int = 1
    """1 for the first try; only tries count, hops through delay queues do not."""
    probe: bool = False
    """True when this try asks a paused subscription's receiver whether it is back."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Not this time: refused connection, timeout, 5xx, 3xx, a close before the answer. Trying again can help."""

    error: str
    """One line, no secret, at most a short excerpt of what the receiver said."""
    retry_after: float | None = None
    """Seconds that the receiver asked to wait."""
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Throttled:
    """The receiver is there and asks to slow down (429, 503 with Retry-After): slow down, burn few tries."""

    error: str
    retry_after: float | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """This event will never be taken (cannot be formatted, too large, a permanent refusal): dead letters at once."""

    error: str
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """The receiver wants nothing any more (410): the subscription is disabled until a person resumes it."""

    error: str
    status: int | None = None


Outcome = Delivered | Failed | Throttled | Rejected | Gone


@runtime_checkable
class Sink(Protocol):
    """A receiver's side; built by its plug-in from the subscription's ``sink:`` settings, closed by the worker.

    ``deliver`` is called by up to the subscription's ``concurrency`` tasks at once. It must let cancellation pass
    and raise nothing else on purpose; what it raises by mistake counts as ``Failed``.
    """

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Try once."""

    async def aclose(self) -> None:
        """Let go of connections; called once, after the last ``deliver`` returned or was cancelled."""
