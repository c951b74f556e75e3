"""The owned kinds of a recording, as they are at its present moment."""

import msgspec
from msgspec import Raw, Struct, field

from kamaji_events.recording import RecordedLine

__all__ = ["OWNED", "OwnedObject", "OwnedView"]

OWNED = {
    "deployments": "Deployment",
    "services": "Service",
    "configmaps": "ConfigMap",
    "ingresses": "Ingress",
    "gateways": "Gateway",
    "httproutes": "HTTPRoute",
    "tlsroutes": "TLSRoute",
    "grpcroutes": "GRPCRoute",
    "secrets": "Secret",
    "jobs": "Job",
}
"""Kinds by their plural in the API, in the order in which the publisher names them."""


class _Owner(Struct, frozen=True):
    uid: str = ""


class _Meta(Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    ownerReferences: list[_Owner] | None = None  # noqa: N815 - the API's spelling
    finalizers: list[str] | None = None
    deletionTimestamp: str | None = None  # noqa: N815


class OwnedObject(Struct, frozen=True):
    """One object, as far as PartialObjectMetadata tells."""

    metadata: _Meta = field(default_factory=_Meta)

    @property
    def owners(self) -> tuple[str, ...]:
        """The uids of its owner references."""
        return tuple(owner.uid for owner in self.metadata.ownerReferences or ())


class _List(Struct, frozen=True):
    items: list[OwnedObject] | None = None


_OBJECT = msgspec.json.Decoder(OwnedObject)
_ITEMS = msgspec.json.Decoder(_List)


class OwnedView:
    """Follows a recording's owned kinds, line by line."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, OwnedObject]] = {}

    @property
    def resources(self) -> list[str]:
        """Plurals of the kinds that the recording has, in the order of ``OWNED``."""
        return [resource for resource in OWNED if resource in self._objects]

    def take(self, line: RecordedLine) -> None:
        """Follow one line; those of other kinds, and what nothing can be read of, are passed over."""
        if line.resource not in OWNED:
            return
        kept = self._objects.setdefault(line.resource, {})
        if line.type == "LIST":
            self._listed(kept, line.object)
        elif line.type in ("ADDED", "MODIFIED", "DELETED"):
            self._changed(kept, line)

    @staticmethod
    def _listed(kept: dict[str, OwnedObject], raw: Raw) -> None:
        try:
            found = _ITEMS.decode(raw)
        except msgspec.DecodeError:
            return
        kept.clear()
        kept.update({item.metadata.uid: item for item in found.items or ()})

    @staticmethod
    def _changed(kept: dict[str, OwnedObject], line: RecordedLine) -> None:
        try:
            found = _OBJECT.decode(line.object)
        except msgspec.DecodeError:
            return
        if line.type == "DELETED":
            kept.pop(found.metadata.uid, None)
        else:
            kept[found.metadata.uid] = found

    def labelled(self, resource: str, labels: dict[str, str], namespace: str | None = None) -> list[OwnedObject]:
        """Objects of a kind that have these labels, in one namespace or in all."""
        return [
            item
            for item in self._objects.get(resource, {}).values()
            if (namespace is None or item.metadata.namespace == namespace)
            and labels.items() <= (item.metadata.labels or {}).items()
        ]
