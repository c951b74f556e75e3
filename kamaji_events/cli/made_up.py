"""A made-up event, to see whether a receiver takes one."""

import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from kamaji_events import identity
from kamaji_events.catalogue import EventType, Kind, lookup
from kamaji_events.envelope import encode, timestamp
from kamaji_events.errors import FilterError
from kamaji_events.event import Event
from kamaji_events.filter import Filter
from kamaji_events.payload import DETAILS

__all__ = ["made_up"]

_NAME = "kamaji-events-test"
_OBJECT = {
    "apiVersion": "kamaji.clastix.io/v1alpha1",
    "kind": "TenantControlPlane",
    "namespace": "tenants",
    "name": _NAME,
    "generation": 1,
    "resourceVersion": "1",
    "labels": {},
    "annotations": {},
}
_STATE = {
    "status": "Ready",
    "version": "v1.35.0",
    "replicas": {"wanted": 2, "ready": 2},
    "endpoint": "192.0.2.1:6443",
    "dataStore": "default",
    "kubeconfig": f"{_NAME}-admin-kubeconfig",
    "paused": False,
    "deleting": False,
}


def made_up(name: str) -> Event:
    """A made-up event of the catalogue.

    Raises:
        FilterError: there is no such event of a control plane; near names are offered.
    """
    Filter(events=(name,))
    try:
        row = lookup(Kind.TENANTCONTROLPLANE, name)
    except KeyError:
        raise FilterError(f"event {name!r} is none of a TenantControlPlane: name one, e.g. upgrade.completed") from None
    uid, now = str(uuid4()), time.time()
    operation = identity.operation_id(uid, row.first, 1) if row.operation else None
    data: dict[str, Any] = {
        "object": {**_OBJECT, "uid": uid},
        "state": _STATE,
        "reason": {"word": "Test", "message": "a test sent by kamaji-events subscriptions test"},
        "severity": row.severity,
        "reconstructed": False,
        **_details(row),
    }
    if operation is not None:
        data["operation"] = _operation(operation, row, timestamp(now))
    message = encode(
        row,
        cluster="test",
        namespace="tenants",
        name=_NAME,
        uid=uid,
        id=f"{operation}.{row.second}" if operation else identity.state_id(uid, "1", name),
        seconds=now,
        sequence=identity.sequence(1, 1),
        term=None,
        data=data,
        operationid=operation,
    )
    return Event.from_bytes(message.body)


def _operation(operation: str, row: EventType, now: str) -> dict[str, Any]:
    ended = row.second in ("completed", "cancelled", "superseded")
    return {
        "id": operation,
        "kind": row.first,
        "requestedAt": now,
        "startedAt": None if row.second == "requested" else now,
        "endedAt": now if ended else None,
        "durationSeconds": 0.0 if ended else None,
        "from": None,
        "to": None,
    }


def _details(row: EventType) -> dict[str, Any]:
    """The least value that each of the event's own members may have."""
    return {name: _least(DETAILS[name].schema) for name in row.details}


def _least(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _least(schema["properties"][name]) for name in schema.get("required", ())}
    least: dict[str, Any] = {"string": "test", "array": [], "integer": 1, "number": 0.0, "boolean": True}
    return least[kind]
