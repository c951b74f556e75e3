"""Multiplies recordings: one merged recording in which many control planes live the recorded lives.

A pure function: the same arguments give the same lines, resourceVersions and uids included. So what ``derive`` says
of the lines is what a publisher must say while they are replayed.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count

import msgspec
import orjson

from kamaji_events.errors import RecordingError
from kamaji_events.recording import RecordedLine
from kamaji_events.simulator.copying import Copy, Plan, SharedStore
from kamaji_events.simulator.kinds import kind_of
from kamaji_events.simulator.lives import Happening, Life, StoreState, Use, lives, stores
from kamaji_events.simulator.template import Template
from kamaji_events.simulator.timeline import Timeline

__all__ = ["multiply"]

_FIRST_VERSION = 1000
_LISTED = ("tenantcontrolplanes", "datastores", "configmaps", "secrets", "jobs", "services", "deployments")
_WHOLE = frozenset({"tenantcontrolplanes", "datastores"})
_HEADER = {"format": "kamaji-recording/1", "kubernetes": "unknown", "kamaji": "unknown", "startedAt": ""}
_PARTIAL_LIST = ("PartialObjectMetadataList", "meta.k8s.io/v1")
_Entry = tuple[float, int, int, Callable[[float], RecordedLine | None]]
"""When, of which copy, which of its happenings, and what makes the line of it."""


def multiply(
    recordings: Sequence[Iterable[RecordedLine]],
    n: int,
    seed: int = 0,
    *,
    spread: float = 30.0,
    namespaces: int = 0,
    tenants_per_store: int = 100,
    speed: float = 1.0,
) -> Iterator[RecordedLine]:
    """Merge recordings into one with ``n`` control planes.

    Each copy lives one recorded life under a name of its own (``acme-007``), with everything that it owned; the
    recordings take turns. DataStores are shared by groups of copies, and list them in ``usedBy``.

    Args:
        recordings: their lines, at least one control plane in each.
        n: how many control planes, each with a name of its own.
        seed: makes uids and beginnings.
        spread: copies begin within this many seconds.
        namespaces: spread the copies over this many namespaces; 0 keeps the recorded ones.
        tenants_per_store: copies that share a DataStore.
        speed: makes ``at`` this many times shorter: what a replay at that speed lives through.

    Raises:
        RecordingError: a recording has no control plane in it.
    """
    plan = Plan(n, seed, spread, namespaces, tenants_per_store)
    read = [list(lines) for lines in recordings]
    timelines = [Timeline.of(lines) for lines in read]
    cast = [lives(timeline) for timeline in timelines]
    if not cast or not all(cast):
        raise RecordingError("a recording without a TenantControlPlane cannot be multiplied")
    copies = [_copy(plan, number, cast) for number in range(n)]
    yield _header(read)
    yield from _Merge(plan, speed, copies, _store_timelines(timelines)).lines()


def _copy(plan: Plan, number: int, cast: Sequence[Sequence[Life]]) -> Copy:
    recorded = cast[number % len(cast)]
    return Copy(plan, number, recorded[number // len(cast) % len(recorded)])


def _header(recordings: Sequence[Sequence[RecordedLine]]) -> RecordedLine:
    found = [line.object for lines in recordings for line in lines if line.type == "HEADER"]
    return RecordedLine(0.0, "_header", "HEADER", found[0] if found else msgspec.Raw(orjson.dumps(_HEADER)))


def _store_timelines(timelines: Sequence[Timeline]) -> dict[str, list[StoreState]]:
    """Each DataStore as the first recording that has it shows it."""
    merged: dict[str, list[StoreState]] = {}
    for timeline in timelines:
        merged = stores(timeline) | merged
    return merged


class _Merge:
    """Puts everything in order and numbers it."""

    def __init__(
        self, plan: Plan, speed: float, copies: Sequence[Copy], timelines: dict[str, list[StoreState]]
    ) -> None:
        self._plan = plan
        self._speed = speed
        self._copies = copies
        self._timelines = timelines
        self._versions = count(_FIRST_VERSION + 1)
        groups = range(plan.group(plan.n - 1) + 1)
        self._shared = {(name, group): SharedStore(plan, name, group) for name in sorted(timelines) for group in groups}

    def lines(self) -> Iterator[RecordedLine]:
        """All lines but the header."""
        yield from self._lists()
        streams = [self._of_copy(copy) for copy in self._copies]
        for at, _, _, make in heapq.merge(self._of_stores(), *streams, key=lambda entry: entry[:3]):
            if (line := make(round(at, 3))) is not None:
                yield line

    def _lists(self) -> Iterator[RecordedLine]:
        items: dict[str, list[bytes]] = {plural: [] for plural in _LISTED}
        for copy in self._copies:
            for there in copy.life.baseline:
                items.setdefault(there.resource, []).append(self._filled(copy, there.template))
            for name in copy.life.uses:
                self._store_of(copy, name).users.add(copy.subject)
        for (name, _), shared in self._shared.items():
            first = self._timelines[name][0]
            if first.at == 0.0:
                shared.content = first.content
                items["datastores"].append(shared.show(next(self._versions)))
        version = next(self._versions)
        for plural, listed in items.items():
            yield RecordedLine(0.0, plural, "LIST", msgspec.Raw(_list(plural, listed, version)))

    def _of_copy(self, copy: Copy) -> Iterator[_Entry]:
        for order, what in enumerate(copy.life.happenings):
            make = partial(self._used, copy, what) if isinstance(what, Use) else partial(self._happened, copy, what)
            yield (what.at + copy.offset) / self._speed, copy.number, order, make

    def _of_stores(self) -> Iterator[_Entry]:
        """Before what happens to copies at the same time."""
        entries: list[_Entry] = [
            (state.at / self._speed, -1, order, partial(self._store_changed, shared, state))
            for (name, _), shared in self._shared.items()
            for order, state in enumerate(self._timelines[name])
            if state.at > 0.0
        ]
        yield from sorted(entries, key=lambda entry: entry[:3])

    def _store_of(self, copy: Copy, name: str) -> SharedStore:
        return self._shared[name, self._plan.group(copy.number)]

    def _filled(self, copy: Copy, template: Template) -> bytes:
        copy.values[0] = str(next(self._versions)).encode()
        return template.fill(copy.values)

    def _happened(self, copy: Copy, what: Happening, at: float) -> RecordedLine:
        return RecordedLine(at, what.resource, what.change, msgspec.Raw(self._filled(copy, what.template)))

    def _used(self, copy: Copy, use: Use, at: float) -> RecordedLine | None:
        shared = self._store_of(copy, use.store)
        if (copy.subject in shared.users) is use.used:
            return None
        shared.users ^= {copy.subject}
        if shared.content is None:
            return None
        return self._store_line(at, "MODIFIED", shared)

    def _store_changed(self, shared: SharedStore, state: StoreState, at: float) -> RecordedLine | None:
        if state.content is None:
            line = self._store_line(at, "DELETED", shared) if shared.content else None
            shared.content = None
            return line
        change = "MODIFIED" if shared.content else "ADDED"
        shared.content = state.content
        return self._store_line(at, change, shared)

    def _store_line(self, at: float, change: str, shared: SharedStore) -> RecordedLine:
        return RecordedLine(at, "datastores", change, msgspec.Raw(shared.show(next(self._versions))))


def _list(plural: str, items: Sequence[bytes], version: int) -> bytes:
    kind = kind_of(plural)
    name, api_version = (f"{kind.name}List", kind.api_version) if plural in _WHOLE else _PARTIAL_LIST
    head = orjson.dumps({"apiVersion": api_version, "kind": name, "metadata": {"resourceVersion": str(version)}})
    return b'%b,"items":[%b]}' % (head[:-1], b",".join(items))
