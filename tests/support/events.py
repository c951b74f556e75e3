"""Events for tests, made as the publisher makes them."""

from collections.abc import Mapping

from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import Message, encode

__all__ = ["event_message"]


def event_message(
    id: str,  # noqa: A002 - the attribute's name
    *,
    event: str = "state.ready",
    kind: Kind = Kind.TENANTCONTROLPLANE,
    cluster: str = "eu-1",
    namespace: str = "tenants",
    name: str = "acme",
    labels: Mapping[str, str] | None = None,
    sequence: str = "000001-00000000000001",
) -> Message:
    """An event of the catalogue with the least payload that filters look at."""
    return encode(
        lookup(kind, event),
        cluster=cluster,
        namespace=namespace,
        name=name,
        uid=f"uid-{name}",
        id=id,
        seconds=1_764_590_000.0,
        sequence=sequence,
        term=1,
        data={"object": {"name": name, "namespace": namespace, "labels": dict(labels or {})}, "severity": "info"},
    )
