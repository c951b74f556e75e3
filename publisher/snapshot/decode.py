"""From bytes to snapshots: watch lines and list pages of both kinds.

A typed decoding that skips what nobody asks about is several times faster than building the whole object; a
line that does not fit the types is read tolerantly instead.
"""

from typing import Any, Generic, TypeVar, cast

import msgspec
import orjson
from msgspec import Raw, Struct

from publisher.observation import Change, ChangeType, Page, Status
from publisher.snapshot.datastore import DataStoreSnapshot
from publisher.snapshot.lenient import lenient
from publisher.snapshot.tcp import TcpSnapshot

__all__ = ["DATASTORE_DECODER", "TCP_DECODER", "UnreadableObjectError"]

_INITIAL_END = "k8s.io/initial-events-end"
_OBJECTS = frozenset({ChangeType.ADDED, ChangeType.MODIFIED, ChangeType.DELETED})

S = TypeVar("S", TcpSnapshot, DataStoreSnapshot)


class UnreadableObjectError(ValueError):
    """A line or an object that nothing can be concluded from: no JSON, no watch line, no metadata, no uid."""


class _TcpLine(Struct, gc=False):
    type: str
    object: TcpSnapshot


class _DataStoreLine(Struct, gc=False):
    type: str
    object: DataStoreSnapshot


class _RawLine(Struct, gc=False):
    type: str
    object: Raw


class _StatusDetails(Struct, gc=False):
    retryAfterSeconds: int | None = None  # noqa: N815 - the API's spelling


class _Status(Struct, gc=False):
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _StatusDetails | None = None


class _ListMeta(Struct, gc=False):
    resourceVersion: str | None = None  # noqa: N815
    continue_: str | None = msgspec.field(default=None, name="continue")


class _List(Struct, gc=False):
    metadata: _ListMeta | None = None
    items: list[Raw] | None = None


class _Decoder(Generic[S]):
    def __init__(self, shape: type[S], line: type[Struct]) -> None:
        self._shape: type[S] = shape
        self._line = msgspec.json.Decoder(line)
        self._object: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)
        self._raw_line = msgspec.json.Decoder(_RawLine)
        self._page = msgspec.json.Decoder(_List)

    def line(self, raw: bytes) -> Change[S]:
        """Read one watch line.

        Raises:
            UnreadableObjectError: it is none, or its object has no usable metadata.
        """
        try:
            found: Any = self._line.decode(raw)
        except msgspec.ValidationError:
            return self._by_hand(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableObjectError(f"a watch line is no JSON: {error}") from error
        if found.type == "ERROR":
            return self._by_hand(raw)
        return self._change(_type(found.type), found.object, len(raw))

    def _by_hand(self, raw: bytes) -> Change[S]:
        try:
            line = self._raw_line.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableObjectError(f"not a watch line: {error}") from error
        kind = _type(line.type)
        if kind is ChangeType.ERROR:
            return Change(kind, "", status=_status(line.object), size=len(raw))
        return self._change(kind, self._tolerant(line.object), len(raw))

    def _change(self, kind: ChangeType, found: S, size: int) -> Change[S]:
        if kind is ChangeType.BOOKMARK:
            meta = found.metadata
            if meta is None or not meta.resourceVersion:
                raise UnreadableObjectError("a bookmark without a resourceVersion")
            ends = bool(meta.annotations) and (meta.annotations or {}).get(_INITIAL_END) == "true"
            return Change(kind, meta.resourceVersion, initial_events_end=ends, size=size)
        checked = _checked(found)
        return Change(kind, checked.metadata.resourceVersion or "", checked, size=size)  # type: ignore[union-attr]

    def _tolerant(self, raw: Raw | bytes) -> S:
        try:
            found = lenient(orjson.loads(bytes(raw)), self._shape)
        except (orjson.JSONDecodeError, RecursionError) as error:
            raise UnreadableObjectError(f"an object is no JSON: {error}") from error
        if found is None:
            raise UnreadableObjectError("an object is expected, this is none")
        return cast("S", found)

    def item(self, raw: Raw | bytes) -> S:
        """Read one object by itself.

        Raises:
            UnreadableObjectError: it is none, or has no usable metadata.
        """
        try:
            found: S = self._object.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            found = self._tolerant(raw)
        return _checked(found)

    def page(self, raw: bytes) -> Page[S]:
        """Read one LIST answer; items that nothing can be concluded from are counted.

        Raises:
            UnreadableObjectError: it is no list.
        """
        try:
            found = self._page.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableObjectError(f"not a list: {error}") from error
        meta = found.metadata or _ListMeta()
        items: list[S] = []
        broken = 0
        for entry in found.items or ():
            try:
                items.append(self.item(entry))
            except UnreadableObjectError:
                broken += 1
        return Page(items, meta.resourceVersion or "", meta.continue_ or "", broken)


def _type(word: str) -> ChangeType:
    try:
        return ChangeType(word)
    except ValueError:
        raise UnreadableObjectError(f"a watch line of the unknown type {word[:40]!r}") from None


def _checked(found: S) -> S:
    meta = found.metadata
    if meta is None:
        raise UnreadableObjectError("an object without metadata")
    if not meta.uid or not meta.name or not meta.resourceVersion:
        raise UnreadableObjectError(f"an object without uid, name or resourceVersion (name: {meta.name!r})")
    return found


def _status(raw: Raw) -> Status:
    try:
        found = lenient(orjson.loads(bytes(raw)), _Status) or _Status()
    except orjson.JSONDecodeError:
        found = _Status()
    after = found.details.retryAfterSeconds if found.details else None
    return Status(found.code or 0, found.reason or "", found.message or "", None if after is None else float(after))


TCP_DECODER = _Decoder(TcpSnapshot, _TcpLine)
"""Reads TenantControlPlanes; a ``Decoder`` of ``publisher.observation``."""

DATASTORE_DECODER = _Decoder(DataStoreSnapshot, _DataStoreLine)
"""Reads DataStores."""
