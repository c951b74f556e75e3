"""What a watch says, between the room that reads it (``publisher.watch``) and the one that judges it (``lifecycle``).

A reflector yields observations of one resource in this order: ``SyncStarted``, a ``SyncItem`` for each object,
``SyncEnded``; then ``Change`` after ``Change``; and again from ``SyncStarted`` whenever it had to list anew.
"""

from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

__all__ = [
    "Change",
    "ChangeType",
    "Changed",
    "Decoder",
    "Observation",
    "Page",
    "Resource",
    "Status",
    "SyncEnded",
    "SyncItem",
    "SyncStarted",
]


class Resource(StrEnum):
    """The two kinds that are watched, by their plural in the API."""

    TENANTCONTROLPLANES = "tenantcontrolplanes"
    DATASTORES = "datastores"


class ChangeType(StrEnum):
    """The ``type`` of a watch line."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


S = TypeVar("S")


class Status(Struct, frozen=True, gc=False):
    """A Kubernetes ``Status``: the body of an error answer or of an ERROR line."""

    code: int
    reason: str
    message: str
    retry_after: float | None = None


class Change(Struct, Generic[S], frozen=True, gc=False):
    """One watch line."""

    type: ChangeType
    resource_version: str
    snapshot: S | None = None
    """The object after the change (its last state when DELETED); None for BOOKMARK and ERROR."""
    status: Status | None = None
    """What an ERROR line says."""
    initial_events_end: bool = False
    """True for the BOOKMARK that ends a streaming list."""
    size: int = 0
    """Bytes of the line: what a buffer counts."""


class Page(Struct, Generic[S], frozen=True, gc=False):
    """One page of a LIST."""

    items: list[S]
    resource_version: str
    next: str
    """Token of the next page, empty on the last."""
    broken: int = 0
    """Items that could not be read as an object: counted and logged, never fatal."""


class SyncStarted(Struct, frozen=True, gc=False):
    """A list begins: what is not in it when it ends is gone. One that fails on its way begins again."""

    resource: Resource
    rewound_from: str | None = None
    """The remembered resourceVersion that the server was found behind of: a backup, or another cluster."""


class SyncItem(Struct, Generic[S], frozen=True, gc=False):
    """One object of the list."""

    resource: Resource
    snapshot: S


class SyncEnded(Struct, frozen=True, gc=False):
    """The list is complete as of ``resource_version``."""

    resource: Resource
    resource_version: str
    unwatched: float = 0.0
    """Seconds during which nobody watched, 0 for the first list of a process."""


class Changed(Struct, Generic[S], frozen=True, gc=False):
    """A change of one object (BOOKMARK included: it only moves the resourceVersion)."""

    resource: Resource
    change: Change[S]


Observation = SyncStarted | SyncItem[S] | SyncEnded | Changed[S]


class Decoder(Protocol[S]):
    """Makes snapshots of bytes, as fast as they come.

    Raises:
        ValueError: from ``line`` for what is no watch line, or an object without usable metadata.
    """

    def line(self, raw: bytes) -> Change[S]:
        """Read one watch line."""

    def page(self, raw: bytes) -> Page[S]:
        """Read one LIST answer; ``items`` may be null."""
