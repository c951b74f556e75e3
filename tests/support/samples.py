"""Events to deliver, made as the publisher makes them."""

from typing import Any

from consumers.sinks.base import Delivery
from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import encode
from kamaji_events.event import Event
from kamaji_events.identity import sequence

__all__ = ["NOW", "SECRET", "sample_delivery", "sample_event"]

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOW = 1_796_133_600.0

_UID = "5c1f7d0e-8a51-4f8b-9f1c-2a6b7d3e4f50"
_VERSIONS = {"from": "v1.31.4", "to": "v1.32.0"}


def sample_event(
    name: str = "upgrade.completed",
    *,
    kind: Kind = Kind.TENANTCONTROLPLANE,
    tenant: str = "acme",
    uid: str = _UID,
    counter: int = 7,
    seconds: float = NOW,
    **data: Any,
) -> Event:
    """An event of a tenant; ``data`` is merged over what an ordinary one holds."""
    event = lookup(kind, name)
    operation = f"{uid}.{event.first}.3" if event.operation else None
    payload: dict[str, Any] = {
        "object": {"kind": "TenantControlPlane", "namespace": "tenants", "name": tenant, "labels": {"tier": "gold"}},
        "state": {"status": "Ready", "version": "v1.32.0", "replicas": {"wanted": 2, "ready": 2}},
        "severity": str(event.severity),
        "reconstructed": False,
    }
    if operation is not None:
        payload["operation"] = {"id": operation, "kind": event.first, "durationSeconds": 83.0, **_VERSIONS}
    message = encode(
        event,
        cluster="eu-1",
        namespace="tenants",
        name=tenant,
        uid=uid,
        id=f"{operation}.{event.second}" if operation else f"{uid}.{1000 + counter}.{name}",
        seconds=seconds,
        sequence=sequence(1, counter),
        term=1,
        data={**payload, **data},
        operationid=operation,
    )
    return Event.from_bytes(message.body)


def sample_delivery(name: str = "upgrade.completed", *, attempt: int = 1, **event: Any) -> Delivery:
    """A first try of such an event."""
    return Delivery(sample_event(name, **event), subscription="pager", attempt=attempt)
