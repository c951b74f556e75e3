"""What a spec wants, and a digest of it that is small and still names the paths that moved.

Only compared, so only hashes are kept: eight bytes for each path of a leaf. Paths of one shape are one shared
tuple. An empty object, list or null equals an absent one, since the operator writes such defaults by itself.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec
import orjson
from msgspec import Raw, Struct

from publisher.snapshot.lenient import lenient
from publisher.snapshot.tcp import TcpSpec

__all__ = ["Digest", "digest", "moved_paths", "read_spec"]

_BYTES = 8
_REMEMBERED = 1024
"""Parts of specs, and leaves, whose hashes are kept at hand."""
_PARTS = msgspec.json.Decoder(dict[str, Raw])
_SPEC = msgspec.json.Decoder(TcpSpec)
_shapes: dict[tuple[str, ...], tuple[str, ...]] = {}


class Digest(Struct, frozen=True, array_like=True):
    """Hashes of a spec's leaves."""

    paths: tuple[str, ...] = ()
    """Joined by dots, from below ``spec``: parts by name, within each sorted."""
    hashes: bytes = b""
    """Eight bytes for each path, in their order."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "paths", _shapes.setdefault(self.paths, self.paths))


def read_spec(raw: Raw) -> TcpSpec | None:
    """The fields that have events of their own; None when it is no object, which says nothing."""
    try:
        return _SPEC.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _tolerant(raw)


def _tolerant(raw: Raw) -> TcpSpec | None:
    try:
        found: TcpSpec | None = lenient(orjson.loads(bytes(raw)), TcpSpec)
    except (orjson.JSONDecodeError, RecursionError):
        return None
    return found


def digest(raw: Raw) -> Digest:
    """Digest a spec; one that is too deep to be read is a single leaf."""
    try:
        return _digest(raw)
    except (orjson.JSONDecodeError, RecursionError):
        return Digest(("*",), blake2b(raw, digest_size=_BYTES).digest())


def _digest(raw: Raw) -> Digest:
    """Part by part, in the order of their names. Each is looked up by its bytes: a fleet shares most of them."""
    try:
        parts = _PARTS.decode(raw)
    except msgspec.DecodeError:
        return Digest(*_leaves("", bytes(raw)))
    paths: tuple[str, ...] = ()
    hashes = b""
    for name in sorted(parts):
        of_part, hashed = _part(name, bytes(parts[name]))
        paths += of_part
        hashes += hashed
    return Digest(paths, hashes)


def _leaves(name: str, part: bytes) -> tuple[tuple[str, ...], bytes]:
    leaves: list[tuple[str, bytes]] = []
    _note(orjson.loads(part), name, leaves)
    leaves.sort()
    return tuple([path for path, _ in leaves]), b"".join([hashed for _, hashed in leaves])


_part = lru_cache(_REMEMBERED)(_leaves)


def moved_paths(before: Digest, after: Digest) -> list[str]:
    """Paths that were added, changed or removed, sorted."""
    if before == after:
        return []
    old, new = _mapping(before), _mapping(after)
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def _mapping(digested: Digest) -> dict[str, bytes]:
    return {path: digested.hashes[index * _BYTES : (index + 1) * _BYTES] for index, path in enumerate(digested.paths)}


def _note(value: Any, path: str, leaves: list[tuple[str, bytes]]) -> None:
    """Add the leaves of a value. An object is none itself, so an empty one adds nothing."""
    if isinstance(value, dict):
        before = f"{path}." if path else ""
        for key, entry in value.items():
            if isinstance(entry, str):  # most leaves: without another call
                leaves.append((before + key, _hashed(orjson.dumps(entry))))
            elif entry is not None:
                _note(entry, before + key, leaves)
        return
    if isinstance(value, list):
        value = _pruned(value)
    if value is not None:
        leaves.append((path, _hashed(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))))


def _pruned(value: Any) -> Any:
    """The value without what is empty, inside out; None when nothing is left."""
    if isinstance(value, dict):
        kept = {key: inner for key, entry in value.items() if (inner := _pruned(entry)) is not None}
        return kept or None
    if isinstance(value, list):
        return [entry if isinstance(entry, str) else _pruned(entry) for entry in value] or None
    return value


@lru_cache(_REMEMBERED)
def _hashed(leaf: bytes) -> bytes:
    """A leaf's hash; the control planes of a fleet share most of their leaves."""
    return blake2b(leaf, digest_size=_BYTES).digest()
