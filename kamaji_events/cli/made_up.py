"""A made-up event, to see whether a receiver takes one."""

import time
from uuid import uuid4

from kamaji_events import identity
from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import encode
from kamaji_events.errors import FilterError
from kamaji_events.event import Event
from kamaji_events.filter import Filter

__all__ = ["made_up"]


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
    data = {
        "object": {
            "apiVersion": "kamaji.clastix.io/v1alpha1",
            "kind": "TenantControlPlane",
            "namespace": "tenants",
            "name": "kamaji-events-test",
            "uid": uid,
            "generation": 1,
            "resourceVersion": "1",
            "labels": {},
        },
        "state": {"status": "Ready", "version": "v1.35.0"},
        "reason": {"word": "Test", "message": "a test sent by kamaji-events subscriptions test"},
        "severity": row.severity,
        "reconstructed": False,
    }
    message = encode(
        row,
        cluster="test",
        namespace="tenants",
        name="kamaji-events-test",
        uid=uid,
        id=f"{operation}.{row.second}" if operation else identity.state_id(uid, "1", name),
        seconds=now,
        sequence=identity.sequence(1, 1),
        term=None,
        data=data,
        operationid=operation,
    )
    return Event.from_bytes(message.body)
