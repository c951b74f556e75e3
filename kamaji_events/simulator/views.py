"""How an object, a list and a watch line look on the wire, whole or as ``PartialObjectMetadata``."""

from collections.abc import Sequence
from typing import Any

import orjson

from kamaji_events.simulator.kinds import Kind
from kamaji_events.simulator.version import Version

__all__ = ["INITIAL_EVENTS_END", "View"]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends a streaming list."""
_PARTIAL = "as=PartialObjectMetadata"


class View:
    """One way of showing a kind.

    Args:
        kind: the kind.
        accept: the request's Accept header.
    """

    def __init__(self, kind: Kind, accept: str) -> None:
        self._kind = kind
        self._partial = _PARTIAL in accept.replace(" ", "")

    def one(self, version: Version) -> bytes:
        """An object."""
        return version.partial if self._partial else version.raw

    def many(self, versions: Sequence[Version], number: int, following: str, remaining: int | None) -> bytes:
        """A list.

        Args:
            versions: its items.
            number: its resourceVersion.
            following: token of the next page, empty on the last.
            remaining: items on later pages, None when it is not known.
        """
        metadata: dict[str, Any] = {"resourceVersion": str(number)}
        if following:
            metadata["continue"] = following
        elif self._kind.custom and not self._partial:
            metadata["continue"] = ""
        if remaining:
            metadata["remainingItemCount"] = remaining
        items = b",".join(map(self.one, versions))
        if self._kind.custom and not self._partial:
            head = orjson.dumps({"apiVersion": self._kind.api_version, "items": [], "kind": f"{self._kind.name}List"})
            before, after = head.split(b"[]")
            shown = orjson.dumps(metadata, option=orjson.OPT_SORT_KEYS)
            return b'%b[%b]%b,"metadata":%b}\n' % (before, items, after[:-1], shown)
        return b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[%b]}\n' % (
            *self._head(listed=True),
            orjson.dumps(metadata),
            items,
        )

    def _head(self, *, listed: bool) -> tuple[bytes, bytes]:
        suffix = "List" if listed else ""
        if self._partial:
            return f"PartialObjectMetadata{suffix}".encode(), b"meta.k8s.io/v1"
        return f"{self._kind.name}{suffix}".encode(), self._kind.api_version.encode()

    def line(self, change: str, version: Version) -> bytes:
        """A watch line."""
        return b'{"type":"%b","object":%b}\n' % (change.encode(), self.one(version))

    def bookmark(self, number: int, *, end: bool = False) -> bytes:
        """A bookmark's line."""
        kind, version = self._head(listed=False)
        metadata: dict[str, Any] = {"annotations": {INITIAL_EVENTS_END: "true"}} if end else {}
        metadata["resourceVersion"] = str(number)
        return b'{"type":"BOOKMARK","object":{"kind":"%b","apiVersion":"%b","metadata":%b}}\n' % (
            kind, version, orjson.dumps(metadata)
        )  # fmt: skip
