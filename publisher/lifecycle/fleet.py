"""The whole diff: observations, ticks of a clock and answers go in, decisions come out.

Pure: time is an argument, questions are values. Each change costs what its object costs, whatever the number of
objects; what waits for the clock stands in an agenda.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Self

from publisher.lifecycle.context import Context
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.looks import Look, LookAnswer
from publisher.lifecycle.memory import ObjectMemory, StoreMemory, TcpMemory
from publisher.lifecycle.merge import seconds_of
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.stores import Stores
from publisher.lifecycle.tenants import Tenants
from publisher.observation import Changed, ChangeType, Observation, Resource, SyncEnded, SyncItem, SyncStarted
from publisher.snapshot import DataStoreSnapshot, TcpSnapshot

__all__ = ["Fleet"]

Snapshot = TcpSnapshot | DataStoreSnapshot


class Fleet:
    """What is known of every object, and what follows from each change.

    Args:
        policy: settings of the diff.
        epoch: marks ids and sequences; a new one begins when the memory was lost or the cluster went back in time.
    """

    def __init__(self, policy: Policy, *, epoch: int = 1) -> None:
        self._context = Context(policy, epoch)
        self._tenants = Tenants(self._context)
        self._stores = Stores(self._context)
        self._baseline_taken: set[Resource] = set()
        self._listing: dict[Resource, set[str]] = {}
        self._rewound: set[Resource] = set()
        self._recalled_until: float | None = None

    @classmethod
    def restore(
        cls,
        policy: Policy,
        memories: Mapping[str, ObjectMemory],
        *,
        epoch: int = 1,
        synced: Iterable[Resource | str] = tuple(Resource),
        recalled_until: float | None = None,
    ) -> Self:
        """A fleet that goes on from what was remembered.

        Args:
            policy: settings of the diff.
            memories: what ``changed`` gave, the last of each key.
            epoch: the epoch that was remembered, or the next one.
            synced: resources whose first list had been taken up completely; the first list of any other is the
                baseline.
            recalled_until: the memories are only recalled from events up to this time, in seconds since 1970: what
                was created later and is not among them is new, anything older that is not is the baseline.
        """
        fleet = cls(policy, epoch=epoch)
        fleet._recalled_until = recalled_until
        fleet._baseline_taken = {Resource(resource) for resource in synced}
        for memory in memories.values():
            if isinstance(memory, StoreMemory):
                fleet._stores.take_up(memory)
            else:
                fleet._tenants.take_up(memory)
        return fleet

    @property
    def policy(self) -> Policy:
        """Settings of the diff."""
        return self._context.policy

    @property
    def epoch(self) -> int:
        """The epoch that marks ids and sequences."""
        return self._context.epoch

    def begin_epoch(self) -> int:
        """Begin a new epoch: ids and sequences start anew, what is known stays to be compared with.

        A ``SyncStarted`` that says that the server went back begins one by itself.

        Returns:
            The new epoch.
        """
        self._context.epoch += 1
        return self._context.epoch

    def observe(self, observation: Observation[Any], now: float) -> list[Decision]:
        """Conclude what follows from one observation.

        Args:
            observation: what a watch or a list said.
            now: seconds since 1970.
        """
        match observation:
            case SyncStarted():
                self._sync_started(observation)
                return []
            case SyncItem():
                return self._listed(observation, now)
            case SyncEnded():
                return self._sync_ended(observation.resource, now)
            case Changed():
                return self._changed(observation, now)

    def _sync_started(self, started: SyncStarted) -> None:
        resource = started.resource
        self._listing[resource] = set()
        if started.rewound_from is None:
            self._rewound.discard(resource)
            return
        if not self._rewound or resource in self._rewound:
            self.begin_epoch()
            self._rewound = set()
        self._rewound.add(resource)

    def _listed(self, item: SyncItem[Any], now: float) -> list[Decision]:
        snapshot: Snapshot = item.snapshot
        if snapshot.metadata is not None and snapshot.metadata.uid:
            self._listing.setdefault(item.resource, set()).add(snapshot.metadata.uid)
        baseline = item.resource not in self._baseline_taken and not self._came_after(snapshot)
        return self._seen(snapshot, now, baseline=baseline, listed=True)

    def _came_after(self, snapshot: Snapshot) -> bool:
        """Whether an object was created after the last event that the memory was recalled from."""
        if self._recalled_until is None or snapshot.metadata is None:
            return False
        return seconds_of(snapshot.metadata.creationTimestamp) > self._recalled_until

    def _sync_ended(self, resource: Resource, now: float) -> list[Decision]:
        seen = self._listing.pop(resource, set())
        self._baseline_taken.add(resource)
        if resource is Resource.TENANTCONTROLPLANES:
            return self._tenants.missing(seen, now)
        return self._stores.missing(seen, now) + self._tenants.conclude_waiting(now)

    def _changed(self, changed: Changed[Any], now: float) -> list[Decision]:
        change = changed.change
        snapshot: Snapshot | None = change.snapshot
        if snapshot is None:
            return []
        if change.type is not ChangeType.DELETED:
            return self._seen(snapshot, now, baseline=False, listed=False)
        if isinstance(snapshot, TcpSnapshot):
            return self._tenants.deleted(snapshot, now)
        return self._stores.deleted(snapshot, now) + self._tenants.conclude_waiting(now)

    def _seen(self, snapshot: Snapshot, now: float, *, baseline: bool, listed: bool) -> list[Decision]:
        if isinstance(snapshot, TcpSnapshot):
            return self._tenants.seen(snapshot, now, baseline=baseline, listed=listed)
        decisions = self._stores.seen(snapshot, now, baseline=baseline, listed=listed)
        return decisions + self._tenants.conclude_waiting(now)

    def tick(self, now: float) -> list[Decision]:
        """Conclude what follows from time alone: stalled operations, outages, settled loops, waits that are over."""
        return self._tenants.tick(now)

    def next_deadline(self) -> float | None:
        """When to tick next, in seconds since 1970; it may turn out that nothing follows."""
        return self._tenants.next_deadline

    def looks(self, now: float) -> list[Look]:
        """Questions that are to be put to the API server now; a question is put again when no answer comes."""
        return self._tenants.looks(now)

    def open_looks(self) -> list[Look]:
        """Every question about what is left that has no final answer yet, whether it is time for it or not."""
        return self._tenants.open_looks()

    def looked(self, answer: LookAnswer, now: float) -> list[Decision]:
        """Conclude what follows from an answer; one about an object that nobody waits for any more is ignored."""
        return self._tenants.looked(answer, now)

    def finish(self, now: float) -> list[Decision]:
        """Nobody will tell any more: deletions that only wait for a DataStore's word are concluded without it."""
        return self._tenants.finish(now)

    def changed(self) -> dict[str, ObjectMemory | None]:
        """Memories that changed since the last call, by key; None for one that is forgotten.

        They are the fleet's own: encode them before the next observation.
        """
        changed, self._context.changed = self._context.changed, {}
        return changed

    def living(self) -> list[TcpMemory]:
        """What is known of each TenantControlPlane in the API; not to be changed."""
        return self._tenants.living

    def counts(self) -> dict[str, Any]:
        """How many objects there are, by status."""
        living = self._tenants.living
        words = Counter(memory.facts.word or "Unknown" for memory in living)
        return {
            "tenantcontrolplanes": len(living),
            "datastores": len(self._stores),
            "byStatus": dict(sorted(words.items())),
            "deleting": sum(memory.deleting for memory in living),
            "openOperations": sum(len(memory.operations) for memory in living),
        }
