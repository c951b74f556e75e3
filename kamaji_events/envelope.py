"""The envelope: CloudEvents 1.0 in structured mode, one event a message.

``encode`` makes the bytes once; whoever sends them again sends these bytes. The attributes are those of the
contract's table, the JSON is UTF-8 and ends without a newline.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from kamaji_events import identity
from kamaji_events.catalogue import EventType
from kamaji_events.routing import routing_key

__all__ = ["APP_ID", "CONTENT_TYPE", "SCHEMA_BASE", "Message", "encode", "timestamp"]

CONTENT_TYPE = "application/cloudevents+json"
APP_ID = "kamaji-events"
SCHEMA_BASE = "urn:kamaji-events:schema:v1:"
"""Prefix of ``dataschema``; ``kamaji-events schema`` prints what it names."""


@dataclass(frozen=True, slots=True)
class Message:
    """An event ready for the exchange: its bytes and what AMQP wants to know of them."""

    routing_key: str
    body: bytes
    id: str
    type: str
    seconds: int
    """The event's time in whole seconds since 1970: AMQP's ``timestamp``."""
    correlation_id: str | None = None
    """The operationid, where the event belongs to an operation."""


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds, e.g. ``2026-12-01T14:08:09.000Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode(
    event: EventType,
    *,
    cluster: str,
    namespace: str | None,
    name: str,
    uid: str,
    id: str,  # noqa: A002 - the attribute's name in CloudEvents
    seconds: float,
    sequence: str,
    term: int | None,
    data: dict[str, Any],
    operationid: str | None = None,
    schema_base: str = SCHEMA_BASE,
) -> Message:
    """Make the event's bytes.

    Args:
        event: its row of the catalogue.
        cluster: management cluster, ``_`` for a consumer that serves several.
        namespace: the object's namespace, None where it has none.
        name: the object's name.
        uid: the object's uid; an instance's name for an event about itself.
        id: see ``kamaji_events.identity``.
        seconds: when it happened, as seconds since 1970.
        sequence: see ``kamaji_events.identity.sequence``.
        term: the publisher's leadership; None on a consumer's events.
        data: the payload, see ``kamaji_events.payload``.
        operationid: the operation that the event belongs to.
        schema_base: where schemas are kept.
    """
    envelope: dict[str, Any] = {
        "specversion": "1.0",
        "id": id,
        "source": f"/kamaji/{cluster}",
        "type": event.type,
        "subject": identity.subject(namespace, name),
        "time": timestamp(seconds),
        "datacontenttype": "application/json",
        "dataschema": f"{schema_base}{event.kind}.{event.name}",
        "sequence": sequence,
        "partitionkey": uid,
        "kamajicluster": cluster,
        "kamajiname": name,
    }
    if operationid is not None:
        envelope["operationid"] = operationid
    if namespace:
        envelope["kamajinamespace"] = namespace
    if term is not None:
        envelope["kamajiterm"] = term
    envelope["data"] = data
    return Message(
        routing_key=routing_key(event, cluster, namespace, name),
        body=orjson.dumps(envelope),
        id=id,
        type=event.type,
        seconds=int(seconds),
        correlation_id=operationid,
    )
