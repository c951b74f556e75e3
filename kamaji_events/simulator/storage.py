"""What etcd and a watch cache hold: objects, one counter of resourceVersions, and what happened."""

import asyncio
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from kamaji_events.simulator.history import ChangeKind, History, Past
from kamaji_events.simulator.kinds import KINDS, kind_of
from kamaji_events.simulator.version import Object, Version

__all__ = ["Reader", "Snapshot", "Storage"]


_AHEAD = 5_000
"""Changes that a writer may be ahead of the slowest open watch."""


@dataclass(frozen=True)
class Snapshot:
    """A copy of a store's state and history, as a backup of etcd holds it."""

    version: int
    state: dict[str, dict[str, Version]]
    histories: dict[str, History]


@dataclass(eq=False)
class Reader:
    """An open watch, as far as the storage is concerned."""

    resource: str
    position: int = 0
    """Position in the history of what it tells next."""
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    """Rung when there is something to tell."""


class Storage:
    """The objects of one simulated cluster, as they are read, replayed, backed up and lost.

    Args:
        seed: makes uids and generated names.
        window: changes of each kind that are kept; older ones are answered with 410.
        version: the first resourceVersion.
        clock: seconds since 1970, for timestamps.
        on_change: told of each change once it is in force; must not write.
    """

    def __init__(
        self,
        seed: int,
        window: int,
        version: int,
        clock: Callable[[], float],
        on_change: Callable[[Past], None] | None,
    ) -> None:
        self._on_change = on_change
        self._window = window
        self._rng = random.Random(seed)
        self._clock = clock
        self._state: dict[str, dict[str, Version]] = {kind.plural: {} for kind in KINDS}
        self._histories = {kind.plural: History(window) for kind in KINDS}
        self._readers: dict[str, set[Reader]] = {kind.plural: set() for kind in KINDS}
        self._progress = asyncio.Event()
        self._lose_deletes: dict[str, int] = {}
        self.version = version
        """The newest resourceVersion."""

    def get(self, resource: str, namespace: str | None, name: str) -> Object | None:
        """A copy of an object, None when there is none."""
        found = self.version_of(resource, namespace, name)
        return found.content() if found else None

    def version_of(self, resource: str, namespace: str | None, name: str) -> Version | None:
        """The present version of an object, None when there is none."""
        return self._state[resource].get(kind_of(resource).key(namespace, name))

    def state(self, resource: str, number: int | None = None) -> dict[str, Version]:
        """All objects of a kind by their keys, at present or at a resourceVersion; not to be changed.

        Raises:
            Expired: that version is forgotten.
        """
        present = self._state[resource]
        return present if number is None else self._histories[resource].undo(present, number)

    def history(self, resource: str) -> History:
        """What happened to a kind."""
        return self._histories[resource]

    def objects(self, resource: str) -> Iterator[Object]:
        """A copy of each object of a kind, in order."""
        for _, version in sorted(self._state[resource].items()):
            yield version.content()

    def listen(self, reader: Reader) -> None:
        """Have a reader's bell rung at each change of its kind, until ``forget``."""
        self._readers[reader.resource].add(reader)

    def forget(self, reader: Reader) -> None:
        """Undo ``listen``."""
        self._readers[reader.resource].discard(reader)
        self._progress.set()

    def read_on(self) -> None:
        """A reader moved on: whoever waits for that looks again."""
        self._progress.set()

    @property
    def backlog(self) -> int:
        """Changes that the slowest open watch has not been told yet."""
        behind = (
            self._histories[plural].end - reader.position
            for plural, readers in self._readers.items()
            for reader in readers
        )
        return max(behind, default=0)

    async def settle(self, most: int = 0) -> None:
        """Wait until no open watch is more than that many changes behind."""
        while self.backlog > most:
            self._progress.clear()
            await self._progress.wait()

    async def keep_pace(self) -> None:
        """Wait until no open watch is so far behind that the window could leave it, as real servers cut it then."""
        await self.settle(min(_AHEAD, self._window // 2))

    def say(self, change: ChangeKind, version: Version) -> None:
        """Take over a change that was decided elsewhere, with its own resourceVersion: a replay's.

        Raises:
            ValueError: its resourceVersion is not newer than every earlier one of its kind.
        """
        kind, key = version.kind, version.key
        history = self._histories[kind.plural]
        if version.number <= history.newest:
            raise ValueError(f"{kind.plural} {key}: resourceVersion {version.number} is not newer than the last one")
        if kind.namespaced and version.meta.namespace and change != "DELETED":
            self._ensure_silently(version.meta.namespace)
        self.version = max(self.version, version.number)
        self._apply(change, version, self._state[kind.plural].get(key))

    def load(self, version: Version) -> None:
        """Take over an object that was there before everything: a replay's baseline. No watch tells it."""
        if version.kind.namespaced and version.meta.namespace:
            self._ensure_silently(version.meta.namespace)
        self._state[version.kind.plural][version.key] = version

    def begin_at(self, number: int) -> None:
        """Let the counter stand at a resourceVersion, with nothing before it remembered: after ``load``."""
        self.version = number
        for history in self._histories.values():
            history.compact(number)

    def compact(self, number: int | None = None) -> None:
        """Forget the history up to a resourceVersion, or all of it."""
        for history in self._histories.values():
            history.compact(self.version if number is None else number)

    def advance(self, steps: int = 1) -> None:
        """Move the counter as writes of other kinds do."""
        self.version += steps

    def lose_deletes(self, resource: str, times: int = 1) -> None:
        """Let the watch cache lose the next deletions of a kind: no watch tells them, a list shows them."""
        self._lose_deletes[resource] = self._lose_deletes.get(resource, 0) + times

    def snapshot(self) -> Snapshot:
        """Copy everything."""
        state = {plural: dict(objects) for plural, objects in self._state.items()}
        return Snapshot(self.version, state, {plural: history.copy() for plural, history in self._histories.items()})

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a copy: versions after it never were. Open watches must be cut, which ``Faults.restore`` does."""
        self.version = snapshot.version
        self._state = {plural: dict(objects) for plural, objects in snapshot.state.items()}
        self._histories = {plural: history.copy() for plural, history in snapshot.histories.items()}

    def _ensure_silently(self, name: str) -> None:
        """A namespace that a recording implies: it was there, its version is of no interest."""
        kind = kind_of("namespaces")
        if kind.key(None, name) not in self._state["namespaces"]:
            metadata = {"name": name, "uid": self._uid(), "resourceVersion": "1", "creationTimestamp": self._now()}
            body: Object = {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}
            body |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
            self._state["namespaces"][kind.key(None, name)] = Version.from_object(kind, body)

    def _apply(self, change: ChangeKind, version: Version, before: Version | None) -> None:
        plural = version.kind.plural
        past = Past(version.number, change, version, before)
        if change == "DELETED":
            self._state[plural].pop(version.key, None)
            past = self._perhaps_lost(past)
        else:
            self._state[plural][version.key] = version
        self._histories[plural].append(past)
        for reader in self._readers[plural]:
            reader.bell.set()
        if self._on_change:
            self._on_change(past)

    def _perhaps_lost(self, past: Past) -> Past:
        plural = past.version.kind.plural
        if not self._lose_deletes.get(plural):
            return past
        self._lose_deletes[plural] -= 1
        return replace(past, lost=True)

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
