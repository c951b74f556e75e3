"""JSON Schema (2020-12) of each event's ``data``, made of the catalogue.

Schemas only ever allow more: unknown members are welcome, what is required stays required within a major version.
"""

from typing import Any

from kamaji_events.catalogue import CATALOGUE, OPERATIONS, EventType, Kind
from kamaji_events.envelope import SCHEMA_BASE
from kamaji_events.payload import DETAILS, OPTIONAL

__all__ = ["DIALECT", "all_schemas", "schema_of"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_TIME_OR_NULL = {"type": ["string", "null"], "format": "date-time"}
_TEXTS_BY_NAME = {"type": "object", "additionalProperties": _TEXT}
_NUMBER_OR_NULL = {"type": ["integer", "null"]}


def schema_of(event: EventType, *, base: str = SCHEMA_BASE) -> dict[str, Any]:
    """The schema of one event's ``data``.

    Args:
        event: its row of the catalogue.
        base: prefix of ``$id``, the same as that of ``dataschema``.
    """
    properties = {"severity": {"const": str(event.severity)}, "reason": _reason()}
    required = ["severity"]
    if event.kind in (Kind.TENANTCONTROLPLANE, Kind.DATASTORE):
        properties |= _of_object(event.kind)
        required += ["object", "state", "reconstructed"]
    if event.operation:
        properties["operation"] = _operation()
        required.append("operation")
    for name in event.details:
        detail = DETAILS[name]
        properties[name] = {"description": detail.meaning, **detail.schema}
        if (event.name, name) not in OPTIONAL:
            required.append(name)
    return {
        "$schema": DIALECT,
        "$id": f"{base}{event.kind}.{event.name}",
        "title": f"{event.kind} {event.name}",
        "description": event.meaning,
        "type": "object",
        "properties": properties,
        "required": required,
    }


def all_schemas(*, base: str = SCHEMA_BASE) -> dict[str, dict[str, Any]]:
    """Every event's schema by its CloudEvents type."""
    return {event.type: schema_of(event, base=base) for event in CATALOGUE}


def _record(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties), **more}


def _of_object(kind: Kind) -> dict[str, Any]:
    return {
        "object": _object(kind),
        "state": _tcp_state() if kind is Kind.TENANTCONTROLPLANE else _store_state(),
        "reconstructed": {"type": "boolean", "description": "it happened while nobody watched"},
        "change": _record({"field": _TEXT, "from": {}, "to": {}}, description="one field that moved"),
        "actor": _record(
            {"manager": _TEXT, "time": _TEXT_OR_NULL},
            description="who changed spec or metadata, as managedFields name it",
        ),
    }


def _object(kind: Kind) -> dict[str, Any]:
    name = "TenantControlPlane" if kind is Kind.TENANTCONTROLPLANE else "DataStore"
    return _record(
        {
            "apiVersion": _TEXT,
            "kind": {"const": name},
            "namespace": _TEXT_OR_NULL,
            "name": _TEXT,
            "uid": _TEXT,
            "generation": _NUMBER_OR_NULL,
            "resourceVersion": {**_TEXT_OR_NULL, "description": "the one that it is concluded from, if any"},
            "labels": _TEXTS_BY_NAME,
            "annotations": {**_TEXTS_BY_NAME, "description": "those that the publisher is told to carry"},
        }
    )


def _tcp_state() -> dict[str, Any]:
    return _record(
        {
            "status": {**_TEXT_OR_NULL, "description": "Kamaji's word, as it is"},
            "version": _TEXT_OR_NULL,
            "replicas": _record({"wanted": {"type": "integer"}, "ready": {"type": ["integer", "null"]}}),
            "endpoint": _TEXT_OR_NULL,
            "dataStore": _TEXT_OR_NULL,
            "kubeconfig": {**_TEXT_OR_NULL, "description": "name of the Secret with the admin kubeconfig"},
            "paused": {"type": "boolean"},
            "deleting": {"type": "boolean"},
        },
        description="after the change",
    )


def _store_state() -> dict[str, Any]:
    return _record(
        {
            "ready": {"type": ["boolean", "null"]},
            "driver": _TEXT_OR_NULL,
            "usedBy": {"type": "integer", "minimum": 0},
            "deleting": {"type": "boolean"},
        },
        description="after the change",
    )


def _operation() -> dict[str, Any]:
    return _record(
        {
            "id": _TEXT,
            "kind": {"enum": [str(operation) for operation in OPERATIONS]},
            "requestedAt": _TIME_OR_NULL,
            "startedAt": _TIME_OR_NULL,
            "endedAt": _TIME_OR_NULL,
            "durationSeconds": {"type": ["number", "null"], "minimum": 0},
            "from": {},
            "to": {},
        }
    )


def _reason() -> dict[str, Any]:
    return _record({"word": {**_TEXT, "pattern": "^[A-Z][A-Za-z0-9]*$"}, "message": _TEXT})
