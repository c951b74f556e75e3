"""What the diff concludes: everything that an event says, before it becomes bytes."""

from typing import Any

from msgspec import Struct, field

from kamaji_events.catalogue import EventType, Kind, lookup

__all__ = ["Actor", "Decision", "OperationFacts"]


class Actor(Struct, frozen=True):
    """Who changed spec or metadata, as managedFields name it."""

    manager: str
    time: str
    """RFC 3339, empty when it is not told."""


class OperationFacts(Struct, frozen=True):
    """An operation at the time of an event."""

    id: str
    kind: str
    requested_at: float | None = None
    """Seconds since 1970, as all times here."""
    started_at: float | None = None
    ended_at: float | None = None
    source: Any = None
    """What it goes from: a version, a store, a number."""
    target: Any = None
    """What it goes to."""


class Decision(Struct, frozen=True, kw_only=True):
    """One conclusion about one object."""

    kind: Kind
    name: str
    """Two words of the catalogue, such as ``upgrade.completed``."""
    id: str
    sequence: str
    uid: str
    namespace: str | None
    object_name: str
    seconds: float
    """When it happened, as far as the object tells; else when it was seen."""
    object: dict[str, Any]
    """``data.object``."""
    state: dict[str, Any]
    """``data.state``, after the change."""
    change: tuple[str, Any, Any] | None = None
    """Field, from, to."""
    operation: OperationFacts | None = None
    actor: Actor | None = None
    reason: tuple[str, str] | None = None
    """A CamelCase word and a sentence."""
    reconstructed: bool = False
    """It happened while nobody watched."""
    details: dict[str, Any] = field(default_factory=dict)
    """Members of ``data`` that only this event has."""

    @property
    def event(self) -> EventType:
        """Its row of the catalogue."""
        return lookup(self.kind, self.name)
