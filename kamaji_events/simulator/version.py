"""One version of one object, as the store keeps it and as the wire carries it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import orjson

from kamaji_events.simulator.kinds import Kind

__all__ = ["Meta", "Object", "Version"]

Object = dict[str, Any]
"""Decoded JSON of an object."""


class Meta(msgspec.Struct, rename="camel", frozen=True):
    """What selectors and the store itself need of ``metadata``."""

    name: str
    uid: str = ""
    resource_version: str = "0"
    namespace: str | None = None
    labels: dict[str, str] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None


class _Head(msgspec.Struct):
    metadata: Meta


_head = msgspec.json.Decoder(_Head)


@dataclass(frozen=True)
class Version:
    """An object as it was at one resourceVersion; its bytes never change."""

    kind: Kind
    raw: bytes
    """The whole object as JSON."""
    meta: Meta

    @classmethod
    def of(cls, kind: Kind, raw: bytes) -> "Version":
        """Read the bytes of an object.

        Raises:
            ValueError: they are no object with metadata.
        """
        return cls(kind, raw, _head.decode(raw).metadata)

    @classmethod
    def from_object(cls, kind: Kind, content: Object) -> "Version":
        """Keep an object; what the caller does with it later changes nothing."""
        return cls.of(kind, orjson.dumps(content))

    @property
    def key(self) -> str:
        """Where it stands in a list."""
        return self.kind.key(self.meta.namespace, self.meta.name)

    @cached_property
    def number(self) -> int:
        """Its resourceVersion."""
        return int(self.meta.resource_version)

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.meta.labels or {}

    @cached_property
    def partial(self) -> bytes:
        """It as a ``PartialObjectMetadata``."""
        head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        return orjson.dumps({**head, "metadata": self.content()["metadata"]})

    def content(self) -> Object:
        """A copy of it that the caller may change."""
        content: Object = orjson.loads(self.raw)
        return content

    def at(self, number: int) -> "Version":
        """The same at another resourceVersion: what a DELETED line carries."""
        content = self.content()
        content["metadata"]["resourceVersion"] = str(number)
        return Version.from_object(self.kind, content)
