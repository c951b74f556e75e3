"""The payload: what stands in an event's ``data``.

The typed shapes are for readers of Python code; ``DETAILS`` describes the members that only some events have, by the
names that the catalogue lists. Members are only ever added: read tolerantly.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, NotRequired, TypedDict

__all__ = [
    "DETAILS",
    "OPTIONAL",
    "ActorData",
    "ChangeData",
    "Data",
    "Detail",
    "ObjectData",
    "OperationData",
    "ReasonData",
    "ReplicasData",
    "TenantControlPlaneState",
]


class ObjectData(TypedDict):
    """Which object it is about."""

    apiVersion: str
    kind: str
    namespace: str | None
    name: str
    uid: str
    generation: int | None
    resourceVersion: str | None
    """The one that it is concluded from; None where there is none."""
    labels: dict[str, str]
    annotations: dict[str, str]
    """Those that the publisher is told to carry."""


class ReplicasData(TypedDict):
    """Replicas of a control plane."""

    wanted: int
    ready: int | None
    """None while no Deployment was seen."""


class TenantControlPlaneState(TypedDict):
    """A TenantControlPlane after the change, compact."""

    status: str | None
    """Kamaji's word, as it is."""
    version: str | None
    replicas: ReplicasData
    endpoint: str | None
    dataStore: str | None
    kubeconfig: str | None
    """Name of the Secret with the admin kubeconfig."""
    paused: bool
    deleting: bool


class ChangeData(TypedDict):
    """One field that moved; ``from`` and ``to`` are its values."""

    field: str


class OperationData(TypedDict):
    """The operation that an event belongs to; ``from`` and ``to`` are what it goes between."""

    id: str
    kind: str
    requestedAt: str | None
    startedAt: str | None
    endedAt: str | None
    durationSeconds: float | None


class ActorData(TypedDict):
    """Who changed spec or metadata, as managedFields name it."""

    manager: str
    time: str | None


class ReasonData(TypedDict):
    """Why."""

    word: str
    message: str


class Data(TypedDict):
    """What every event of an object has; details stand beside it."""

    object: ObjectData
    state: dict[str, Any]
    severity: Literal["info", "notice", "warning", "critical"]
    reconstructed: bool
    change: NotRequired[ChangeData]
    operation: NotRequired[OperationData]
    actor: NotRequired[ActorData]
    reason: NotRequired[ReasonData]


class Detail(NamedTuple):
    """A member of ``data`` that only some events have."""

    meaning: str
    schema: Mapping[str, Any]
    """JSON Schema of its value."""


_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_COUNT: Final = {"type": "integer", "minimum": 0}
_SECONDS: Final = {"type": "number", "minimum": 0}
_ANYTHING: Final[Mapping[str, Any]] = {}


def _objects(**members: Mapping[str, Any]) -> Mapping[str, Any]:
    item = {"type": "object", "properties": members, "required": sorted(members)}
    return {"type": "array", "items": item}


DETAILS: Final[Mapping[str, Detail]] = {
    "accessPoints": Detail(
        "access points of its Gateway, when there is one",
        _objects(value=_TEXT, port={"type": "integer"}, urls=_TEXTS),
    ),
    "added": Detail("tenants, as namespace/name, that use it now and did not before", _TEXTS),
    "addons": Detail("addons that were enabled or disabled", _objects(name=_TEXT, enabled={"type": "boolean"})),
    "blockers": Detail(
        "every reason that can be read for why it takes so long, a CamelCase word and a sentence each",
        _objects(reason=_TEXT, message=_TEXT),
    ),
    "cause": Detail("why a new epoch began", _TEXT),
    "certificates": Detail(
        "certificates whose checksum moved: those of status.certificates by name, datastore, konnectivity", _TEXTS
    ),
    "cleanup": Detail(
        "verified when the DataStore no longer lists it and no object of its name lives, else unverified",
        {"enum": ["verified", "unverified"]},
    ),
    "counts": Detail("how many objects there are, by status", {"type": "object"}),
    "durationSeconds": Detail("how long it lasted", _SECONDS),
    "epoch": Detail("the epoch that began", {"type": "integer", "minimum": 1}),
    "silentSeconds": Detail("for how long it has not been heard", _SECONDS),
    "error": Detail("what the receiver or the network said, without secrets", _ANYTHING),
    "event": Detail("the event that was dead-lettered", _ANYTHING),
    "finalizers": Detail("the finalizers that were seen last", _TEXTS),
    "flips": Detail("how often the status word changed meanwhile", _COUNT),
    "leftovers": Detail("Kind/name of what was orphaned on purpose", _TEXTS),
    "loop": Detail(
        "what loops, and how many changes were counted",
        {
            "type": "object",
            "properties": {"kinds": _TEXTS, "changes": _COUNT},
            "required": ["kinds", "changes"],
        },
    ),
    "namespaceFree": Detail(
        "whether no other TenantControlPlane lives in its namespace; unknown without the right to list Secrets",
        {"enum": [True, False, "unknown"]},
    ),
    "paths": Detail("paths of spec that moved, from below spec", _TEXTS),
    "reconstructedChanges": Detail("how many events were concluded by comparing", _COUNT),
    "recreatedAs": Detail("uid of the living object of the same name, null when there is none", _TEXT_OR_NULL),
    "removed": Detail("tenants, as namespace/name, that no longer use it", _TEXTS),
    "rolledOut": Detail("whether every replica is of the new version", {"type": "boolean"}),
    "stalledAt": Detail(
        "the step that it stands at: during a creation the first empty block of status, else the last step told", _TEXT
    ),
    "subscription": Detail("the subscription's name", _TEXT),
    "tenants": Detail("tenants, as namespace/name, that it holds up", _TEXTS),
    "term": Detail("the leadership that began", {"type": "integer"}),
    "unverified": Detail("kinds that could not be checked", _TEXTS),
    "unwatchedSeconds": Detail("how long nobody watched before the list", _SECONDS),
    "verbs": Detail("what is blocked: create, update, delete", _TEXTS),
    "verified": Detail("kinds that were checked", _TEXTS),
}
"""Every detail that the catalogue names."""

OPTIONAL: Final = frozenset({("spec.changed", "verbs"), ("state.paused", "error"), ("delivery.exhausted", "error")})
"""Details that an event may lack: (event, detail)."""
