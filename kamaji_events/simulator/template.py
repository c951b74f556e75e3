"""An object's JSON with holes where another copy of it has other names, uids and versions.

Filling the holes is a join of bytes: a recording is read once, however often it is multiplied.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

__all__ = ["Template", "Vocabulary"]

_OPEN, _CLOSE = "\ue000", "\ue001"
_HOLE = re.compile(f"{_OPEN}([0-9]+){_CLOSE}".encode())
_KEPT = frozenset(
    {
        "apiVersion", "kind", "manager", "operation", "subresource", "fieldsType", "time", "finalizers", "type",
        "reason", "driver", "version", "status", "clusterDomain", "serviceAccountName", "registry",
        "kamaji.clastix.io/project", "kamaji.clastix.io/component",
    }
)  # fmt: skip
"""Fields that never hold the name of an object, even where they look like one."""
_STORE_FIELDS = frozenset({"dataStore", "dataStoreName"})
_NAMESPACE_FIELDS = frozenset({"namespace", "tcp.kamaji.clastix.io/namespace"})
_VERSION = 0
"""The first hole is the object's resourceVersion."""


@dataclass(frozen=True)
class Template:
    """Bytes with holes."""

    parts: tuple[bytes, ...]
    """One more than there are holes."""
    holes: tuple[int, ...]
    """Which value goes into each."""

    def fill(self, values: Sequence[bytes]) -> bytes:
        """Put values into the holes, by their numbers; 0 is the resourceVersion."""
        filled = [self.parts[0]]
        for hole, part in zip(self.holes, self.parts[1:], strict=True):
            filled += (values[hole], part)
        return b"".join(filled)


class Vocabulary:
    """What becomes a hole in the objects of one control plane.

    Args:
        name: its name.
        namespace: its namespace.
        uids: its uid and those of all that it owns.
        stores: DataStores that it may name.
    """

    def __init__(self, name: str, namespace: str, uids: Sequence[str], stores: Sequence[str]) -> None:
        others = [(kind, word) for kind, words in (("uid", uids), ("store", stores)) for word in words]
        self.words = (("name", name), ("namespace", namespace), *others)
        """What each hole from 1 on stood for, as (kind, word)."""
        self._holes = {entry: f"{_OPEN}{number}{_CLOSE}" for number, entry in enumerate(self.words, start=1)}
        # Not as a part of a longer name, nor in a domain such as name.clastix.io
        self._name = re.compile(rf"(?<![A-Za-z0-9.-]){re.escape(name)}(?![A-Za-z0-9]|\.clastix)")
        self._uid = re.compile("|".join(map(re.escape, uids)) or r"(?!)")
        store = "|".join(map(re.escape, stores)) or r"(?!)"
        self._store_text = re.compile(rf'(?<="dataStore":")({store})(?=")')
        inside = re.escape(namespace)
        self._namespace_text = re.compile(
            rf'(?<="namespace":"){inside}(?=")|(?<![A-Za-z0-9.-]){inside}(?=/{re.escape(name)})'
        )

    def template(self, content: Mapping[str, Any]) -> Template:
        """Make holes in an object."""
        holed = self._walk(content, "")
        holed["metadata"]["resourceVersion"] = f"{_OPEN}{_VERSION}{_CLOSE}"
        parts = _HOLE.split(orjson.dumps(holed))
        return Template(tuple(parts[::2]), tuple(map(int, parts[1::2])))

    def _walk(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {self._uids(name): self._walk(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._walk(inner, key) for inner in value]
        return self._text(value, key) if isinstance(value, str) and key not in _KEPT else value

    def _text(self, text: str, key: str) -> str:
        kind = "store" if key in _STORE_FIELDS else "namespace" if key in _NAMESPACE_FIELDS else ""
        if kind:
            return self._holes.get((kind, text), text)
        text = self._namespace_text.sub(lambda found: self._holes["namespace", found[0]], self._uids(text))
        text = self._store_text.sub(lambda found: self._holes["store", found[0]], text)
        return self._name.sub(lambda found: self._holes["name", found[0]], text)

    def _uids(self, text: str) -> str:
        return self._uid.sub(lambda found: self._holes["uid", found[0]], text)
