"""What workers write down about subscriptions: records in a stream that every worker reads in the same order.

Records are facts or claims, never commands. Of two workers that claim the same, the one whose record comes first in
the stream wins, for everyone: ``consumers.state`` says how each record changes a subscription's state.
"""

from typing import Any

import msgspec

__all__ = [
    "Bound",
    "CatchUpClaimed",
    "CatchUpMoved",
    "CaughtUp",
    "Declared",
    "Disabled",
    "Drained",
    "Forgotten",
    "Heard",
    "Held",
    "Paused",
    "ProbeClaimed",
    "ProbeFailed",
    "Record",
    "Released",
    "Removed",
    "Resumed",
    "Silent",
    "Snapshot",
    "Suspended",
    "decode_record",
    "encode_record",
]


class _About(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    subscription: str
    at: float
    """Seconds since 1970, the writer's clock."""
    by: str = ""
    """The worker that writes it, or the person's ``user@host``."""


class Declared(_About, frozen=True):
    """Its queue exists in this version, with these bindings."""

    group: str
    version: int
    kind: str
    """What the queue's immutable arguments depend on."""
    keys: tuple[str, ...]
    history: float | None = None
    """For a new one: it wants so many seconds of the history."""


class Removed(_About, frozen=True):
    """It is no longer in the configuration: unbound, its queue is kept."""


class Forgotten(_About, frozen=True):
    """Its queues were deleted."""


class Drained(_About, frozen=True):
    """An older version of its queue was empty and is deleted."""

    version: int


class Paused(_About, frozen=True):
    """Its receiver is down, or a person paused it."""

    error: str
    probe_at: float | None
    """When to probe; None: a person paused it, nobody probes."""


class ProbeClaimed(_About, frozen=True):
    """The writer probes, until then nobody else does."""

    until: float


class ProbeFailed(_About, frozen=True):
    """The receiver is still down."""

    error: str
    probe_at: float
    until: float
    """The writer keeps probing until then, unless it renews."""


class Resumed(_About, frozen=True):
    """Deliver again: the probe got through, or a person says so."""


class Disabled(_About, frozen=True):
    """The receiver answered 410."""

    error: str


class Suspended(_About, frozen=True):
    """Over its quota: unbound, what comes from now on must be caught up from the history."""

    error: str


class Bound(_About, frozen=True):
    """Bound again, or for the first time: catch up from ``since`` to the event ``until_id``."""

    since: float
    until_id: str


class CatchUpClaimed(_About, frozen=True):
    """The writer copies from the history, until then nobody else does."""

    until: float


class CatchUpMoved(_About, frozen=True):
    """Everything up to the stream's ``offset`` is copied."""

    offset: int
    until: float


class CaughtUp(_About, frozen=True):
    """The copy is complete."""

    copied: int = 0


class Held(_About, frozen=True):
    """With ordering by object: this event is on its way through the delay tiers, later ones must wait for it."""

    object: str
    sequence: str
    due: float


class Released(_About, frozen=True):
    """The event is settled; the object's later ones need not wait for it."""

    object: str
    sequence: str


class Silent(_About, frozen=True):
    """A cluster's publisher has stopped saying that it is alive; ``subscription`` is ``cluster:<its name>``."""


class Heard(_About, frozen=True):
    """It is heard again; ``subscription`` as for ``Silent``."""


class Snapshot(_About, frozen=True):
    """All states as of an offset, so that older records can be dropped."""

    states: dict[str, Any]
    as_of: int


Record = (
    Declared
    | Removed
    | Forgotten
    | Drained
    | Paused
    | ProbeClaimed
    | ProbeFailed
    | Resumed
    | Disabled
    | Suspended
    | Bound
    | CatchUpClaimed
    | CatchUpMoved
    | CaughtUp
    | Held
    | Released
    | Silent
    | Heard
    | Snapshot
)

_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_ENCODER = msgspec.json.Encoder()


def encode_record(record: Record) -> bytes:
    """A record as JSON."""
    return _ENCODER.encode(record)


def decode_record(raw: bytes) -> Record | None:
    """A record from JSON; None for one that this release does not know: a newer worker wrote it."""
    try:
        return _DECODER.decode(raw)
    except msgspec.MsgspecError:
        return None
