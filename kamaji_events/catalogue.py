"""The event catalogue: every event there is, as data.

The tables of the contract in the order that decides what is said first within one resourceVersion: operations in
the order of their table, then states in the order of theirs. Docs, JSON Schemas, filters and the lifecycle diff
all read this one list.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

__all__ = ["CATALOGUE", "OPERATIONS", "TYPE_PREFIX", "EventType", "Kind", "Operation", "Severity", "by_type", "lookup"]

TYPE_PREFIX = "io.clastix.kamaji"


class Kind(StrEnum):
    """What an event is about: the third word from the end of its CloudEvents type."""

    TENANTCONTROLPLANE = "tenantcontrolplane"
    DATASTORE = "datastore"
    PUBLISHER = "publisher"
    SUBSCRIPTION = "subscription"


class Severity(StrEnum):
    """How much an event matters to a person on call; fixed for each event."""

    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"


class Operation(StrEnum):
    """The operations of a TenantControlPlane, in the order in which they are told."""

    CREATE = "create"
    UPGRADE = "upgrade"
    MIGRATE = "migrate"
    SCALE = "scale"
    SLEEP = "sleep"
    WAKE = "wake"
    ROTATION = "rotation"
    DELETE = "delete"


OPERATIONS: tuple[Operation, ...] = tuple(Operation)


class EventType(NamedTuple):
    """One event of the catalogue."""

    kind: Kind
    """What it is about."""
    name: str
    """Two words, such as ``upgrade.completed``."""
    severity: Severity
    """Fixed for the event."""
    meaning: str
    """When it is said, in one sentence, for the event reference."""
    details: tuple[str, ...] = ()
    """Members of ``data`` that only this event has, by their name in ``kamaji_events.payload.DETAILS``."""
    operation: bool = False
    """True when the event belongs to an operation and carries ``operationid``."""

    @property
    def type(self) -> str:
        """The CloudEvents ``type``."""
        return f"{TYPE_PREFIX}.{self.kind}.{self.name}"

    @property
    def first(self) -> str:
        """The first word of the name."""
        return self.name.partition(".")[0]

    @property
    def second(self) -> str:
        """The second word of the name."""
        return self.name.partition(".")[2]


_INFO, _NOTICE, _WARNING, _CRITICAL = Severity.INFO, Severity.NOTICE, Severity.WARNING, Severity.CRITICAL

_ENDS = {
    "superseded": (_NOTICE, "another target was asked for before this one was reached; a new operation follows"),
    "cancelled": (
        _NOTICE,
        "the operation ended without reaching its goal: it was taken back, or the object is deleted",
    ),
    "stalled": (
        _WARNING,
        "the operation has been open longer than its limit; said once, with every blocker that can be read",
    ),
}


def _operation(word: Operation, **seconds: str | tuple[Severity, str, tuple[str, ...]]) -> Iterator[EventType]:
    for second, told in seconds.items():
        severity, meaning, details = (_INFO, told, ()) if isinstance(told, str) else told
        yield EventType(Kind.TENANTCONTROLPLANE, f"{word}.{second}", severity, meaning, details, operation=True)
    ends = {
        Operation.CREATE: ("cancelled", "stalled"),
        Operation.ROTATION: ("cancelled", "stalled"),
        Operation.DELETE: ("stalled",),
    }.get(word, ("superseded", "cancelled", "stalled"))
    for second in ends:
        severity, meaning = _ENDS[second]
        extra = ("stalledAt", "blockers") if second == "stalled" else ()
        yield EventType(Kind.TENANTCONTROLPLANE, f"{word}.{second}", severity, meaning, extra, operation=True)


def _tcp_operations() -> Iterator[EventType]:
    yield from _operation(
        Operation.CREATE,
        started="the object is seen for the first time and was not part of the baseline",
        completed=(_NOTICE, "its version is known in status and it serves, or is asleep, for the first time", ()),
    )
    yield from _operation(
        Operation.UPGRADE,
        requested="the wanted Kubernetes version differs from the one in status",
        started="the operator acts on the wanted version",
        completed=(_NOTICE, "the version in status is the one that was asked for", ("rolledOut",)),
    )
    yield from _operation(
        Operation.MIGRATE,
        requested="the wanted DataStore differs from the one in status",
        started="the operator moves the data",
        completed=(_NOTICE, "the wanted DataStore is in status and the control plane serves, or is asleep", ()),
    )
    yield from _operation(
        Operation.SCALE,
        started="the wanted number of replicas moved from one non-zero number to another",
        completed="as many replicas as wanted are ready and no more exist",
    )
    yield from _operation(
        Operation.SLEEP,
        started="the wanted number of replicas moved to zero",
        completed="no replica is wanted and none exists",
    )
    yield from _operation(
        Operation.WAKE,
        started="the wanted number of replicas moved away from zero",
        completed=(_NOTICE, "it serves again", ()),
    )
    yield from _operation(
        Operation.ROTATION,
        started=(_NOTICE, "the checksum of its certificate authority moved after the creation", ()),
        completed=(_NOTICE, "it serves again with the new certificate authority", ("certificates",)),
    )
    yield from _operation(
        Operation.DELETE,
        started=(_NOTICE, "the object has a deletionTimestamp", ()),
        finalized=(_INFO, "the object is gone from the API; what it owned may still be there", ("finalizers",)),
        completed=(
            _NOTICE,
            "nothing that it owned is left: what was kept for it can go",
            ("cleanup", "verified", "unverified", "leftovers", "recreatedAs", "namespaceFree"),
        ),
    )


def _states(
    kind: Kind, *rows: tuple[str, Severity, str] | tuple[str, Severity, str, tuple[str, ...]]
) -> Iterator[EventType]:
    for row in rows:
        yield EventType(kind, *row)


_TCP_STATES = tuple(
    _states(
        Kind.TENANTCONTROLPLANE,
        ("state.ready", _NOTICE, "it serves; strictly alternates with state.notready"),
        ("state.notready", _WARNING, "it does not serve: NotReady, Sleeping, or no replica is ready"),
        (
            "state.degraded",
            _WARNING,
            "it is ready with fewer ready replicas than wanted while no operation explains it",
        ),
        ("state.recovered", _INFO, "it is back to all wanted replicas without having gone not ready"),
        (
            "outage.started",
            _CRITICAL,
            "it has been not ready, and not asleep, for longer than the hold: page on this one",
        ),
        ("outage.ended", _NOTICE, "the outage is over", ("durationSeconds", "flips")),
        (
            "state.looping",
            _WARNING,
            "its status, Deployment or a certificate changes again and again while nobody asks for a change",
            ("loop",),
        ),
        ("state.settled", _INFO, "two quiet minutes after looping", ("durationSeconds", "loop")),
        ("bootstrap.completed", _INFO, "the tenant's bootstrap token is there: RBAC and tokens work inside it"),
        ("bootstrap.failed", _WARNING, "Kamaji marks that it cannot set up the inside of the tenant"),
        ("writes.limited", _NOTICE, "writes to the tenant are blocked and the operator enforces it", ("verbs",)),
        ("writes.restored", _NOTICE, "nothing limits writes to the tenant any more"),
        ("state.paused", _NOTICE, "Kamaji's reconciliation is paused by annotation: status is frozen from here on"),
        ("state.resumed", _NOTICE, "Kamaji's reconciliation goes on"),
        ("endpoint.assigned", _NOTICE, "its endpoint is known", ("accessPoints",)),
        ("endpoint.changed", _NOTICE, "its endpoint, or a Gateway's access points, are others now", ("accessPoints",)),
        ("kubeconfig.available", _NOTICE, "the Secret with its admin kubeconfig is named in status"),
        ("kubeconfig.rotated", _NOTICE, "its admin kubeconfig is another: fetch it again"),
        (
            "certificates.rotated",
            _NOTICE,
            "other certificates were renewed, outside a rotation of the certificate authority",
            ("certificates",),
        ),
        ("credentials.rotated", _NOTICE, "its password at the DataStore is another, outside a migration"),
        ("labels.changed", _INFO, "its labels changed"),
        ("spec.changed", _INFO, "its spec was edited in a way that no other event tells", ("paths", "verbs")),
        ("addons.changed", _INFO, "addons were enabled or disabled", ("addons",)),
        ("state.discovered", _INFO, "an object of the baseline; only when announcing existing objects is on"),
    )
)

_DATASTORE = tuple(
    _states(
        Kind.DATASTORE,
        ("state.created", _INFO, "the DataStore is seen for the first time and was not part of the baseline"),
        ("state.ready", _INFO, "Kamaji says that the DataStore is ready", ("tenants",)),
        (
            "state.notready",
            _CRITICAL,
            "Kamaji says that it is not ready: nothing is reconciled for its tenants",
            ("tenants",),
        ),
        ("usage.changed", _INFO, "other tenants use it now", ("added", "removed")),
        ("delete.started", _NOTICE, "the DataStore has a deletionTimestamp"),
        ("delete.completed", _NOTICE, "the DataStore is gone from the API"),
    )
)

_PUBLISHER = tuple(
    _states(
        Kind.PUBLISHER,
        (
            "sync.completed",
            _INFO,
            "a list was read and compared with the memory",
            ("counts", "unwatchedSeconds", "reconstructedChanges"),
        ),
        (
            "state.alive",
            _INFO,
            "said each minute by the publisher that leads: raise an alarm when it stops",
            ("counts",),
        ),
        ("state.leading", _NOTICE, "this publisher took over", ("term",)),
        (
            "memory.lost",
            _CRITICAL,
            "the publisher's memory was lost or is ahead of the cluster: a new epoch begins",
            ("epoch", "cause"),
        ),
    )
)

_SUBSCRIPTION = tuple(
    _states(
        Kind.SUBSCRIPTION,
        ("state.paused", _WARNING, "its receiver is down: events wait, one probes", ("subscription", "error")),
        ("state.resumed", _NOTICE, "its receiver answers again", ("subscription",)),
        (
            "state.suspended",
            _CRITICAL,
            "over its quota: unbound, will catch up from the history",
            ("subscription", "error"),
        ),
        ("delivery.exhausted", _WARNING, "an event was dead-lettered", ("subscription", "error", "event")),
        (
            "endpoint.gone",
            _CRITICAL,
            "its receiver answered 410: disabled until a person resumes it",
            ("subscription", "error"),
        ),
        (
            "heartbeat.missed",
            _CRITICAL,
            "the publisher of the cluster has stopped saying that it is alive: nobody may be watching it",
            ("silentSeconds",),
        ),
        ("heartbeat.resumed", _NOTICE, "the publisher of the cluster is heard again"),
    )
)

CATALOGUE: tuple[EventType, ...] = (*_tcp_operations(), *_TCP_STATES, *_DATASTORE, *_PUBLISHER, *_SUBSCRIPTION)
"""Every event, in the order in which events of one resourceVersion are told."""

_BY_NAME: Mapping[tuple[Kind, str], EventType] = {(event.kind, event.name): event for event in CATALOGUE}
_BY_TYPE: Mapping[str, EventType] = {event.type: event for event in CATALOGUE}


def lookup(kind: Kind, name: str) -> EventType:
    """The catalogue's row for a kind and a two-word name.

    Raises:
        KeyError: there is no such event.
    """
    return _BY_NAME[kind, name]


def by_type(cloudevents_type: str) -> EventType | None:
    """The catalogue's row for a CloudEvents ``type``; None for one that this release does not know."""
    return _BY_TYPE.get(cloudevents_type)
