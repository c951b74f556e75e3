"""A recording as a baseline and changes in the order of their resourceVersions: what can be replayed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import msgspec
import orjson

from kamaji_events.errors import RecordingError
from kamaji_events.recording import RecordedLine
from kamaji_events.simulator.history import ChangeKind
from kamaji_events.simulator.kinds import KINDS, kind_of
from kamaji_events.simulator.version import Version

__all__ = ["Moment", "Timeline", "versions_of_list", "whole_version"]

_SERVED = frozenset(kind.plural for kind in KINDS)
_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})


@dataclass(frozen=True, slots=True)
class Moment:
    """One change of a recording."""

    at: float
    """Seconds since the recording's start; never before an older resourceVersion's."""
    change: ChangeKind
    version: Version


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = "0"


class _List(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


_list = msgspec.json.Decoder(_List)


@dataclass(frozen=True)
class Timeline:
    """A recording that can be replayed.

    A later LIST of a kind becomes the changes that it implies. Bookmarks and errors are left out: a server makes its
    own.
    """

    baseline: list[Version]
    """What the first LIST of each kind holds."""
    start: int
    """The resourceVersion of the newest of these lists."""
    moments: list[Moment]

    @classmethod
    def of(cls, lines: Iterable[RecordedLine]) -> "Timeline":
        """Put a recording's lines in order.

        Raises:
            RecordingError: a later list has an older resourceVersion.
        """
        baseline: list[Version] = []
        start, listed = 0, set[str]()
        moments: list[Moment] = []
        newest = dict.fromkeys(_SERVED, 0)
        known: dict[str, dict[str, Version]] = {plural: {} for plural in _SERVED}
        for line in lines:
            if line.resource not in _SERVED:
                continue
            if line.type == "LIST" and line.resource not in listed:
                number, versions = versions_of_list(line)
                listed.add(line.resource)
                baseline += versions
                start = newest[line.resource] = max(start, number)
                known[line.resource] = {version.key: version for version in versions}
            elif line.type == "LIST":
                moments += _implied(line, known[line.resource], newest[line.resource])
                newest[line.resource] = max(newest[line.resource], versions_of_list(line)[0])
            elif line.type in _CHANGES:
                moment = Moment(line.at, cast("ChangeKind", line.type), whole_version(line.resource, line.object))
                _learn(known[line.resource], moment)
                newest[line.resource] = moment.version.number
                moments.append(moment)
        return cls(baseline, start, _in_order(moments))


def _learn(known: dict[str, Version], moment: Moment) -> None:
    if moment.change == "DELETED":
        known.pop(moment.version.key, None)
    else:
        known[moment.version.key] = moment.version


def _implied(line: RecordedLine, known: dict[str, Version], newest: int) -> Iterator[Moment]:
    """What must have happened between the last change and a later list.

    Deletions that nobody saw had resourceVersions that nobody knows: they get free ones in between.
    """
    number, versions = versions_of_list(line)
    if number < newest:
        raise RecordingError(f"a list of {line.resource} went back to {number} from {newest}: this cannot be replayed")
    there = {version.key: version for version in versions}
    taken = {version.number for version in versions}
    free = (candidate for candidate in range(newest + 1, number + 1) if candidate not in taken)
    for key, gone in list(known.items()):
        if key not in there or there[key].meta.uid != gone.meta.uid:
            del known[key]
            yield Moment(line.at, "DELETED", gone.at(next(free, number)))
    for key, version in there.items():
        before = known.get(key)
        if before is None or before.number != version.number:
            known[key] = version
            yield Moment(line.at, "MODIFIED" if before else "ADDED", version)


def _in_order(moments: list[Moment]) -> list[Moment]:
    """By resourceVersion: kinds are read by watches of their own, so that lines of different ones may have crossed."""
    ordered, at = [], 0.0
    for moment in sorted(moments, key=lambda moment: moment.version.number):
        at = max(at, moment.at)
        ordered.append(Moment(at, moment.change, moment.version))
    return ordered


def versions_of_list(line: RecordedLine) -> tuple[int, list[Version]]:
    """The resourceVersion of a LIST line and its objects."""
    read = _list.decode(line.object)
    return int(read.metadata.resource_version or 0), [whole_version(line.resource, raw) for raw in read.items or ()]


def whole_version(plural: str, raw: msgspec.Raw) -> Version:
    """An object; one that was recorded as metadata only gets its own kind back, and nothing else."""
    kind = kind_of(plural)
    version = Version.of(kind, bytes(raw))
    if b'"PartialObjectMetadata"' not in version.raw:
        return version
    content = orjson.loads(version.raw)
    content |= {"kind": kind.name, "apiVersion": kind.api_version}
    return Version(kind, orjson.dumps(content), version.meta)
