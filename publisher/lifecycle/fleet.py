"""The whole diff: observations, ticks of a clock and answers go in, decisions come out.

Pure: time is an argument, questions are values. Each change costs what its object costs, whatever the number of
objects; what waits for the clock stands in an agenda.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Self

from publisher.lifecycle import clockwork, farewell, stalled, store, tcp
from publisher.lifecycle.agenda import Agenda
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.looks import Look, LookAnswer, LookKind
from publisher.lifecycle.memory import ObjectMemory, StoreMemory, TcpMemory
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.surroundings import Surroundings
from publisher.lifecycle.teller import Teller
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
        self.policy = policy
        self._epoch = epoch
        self._tcps: dict[str, TcpMemory] = {}
        self._stores: dict[str, StoreMemory] = {}
        self._around = Surroundings()
        self._agenda = Agenda()
        self._asking: set[str] = set()
        self._gone: set[str] = set()
        self._changed: dict[str, ObjectMemory | None] = {}
        self._baseline_taken: set[Resource] = set()
        self._syncing: dict[Resource, set[str]] = {}
        self._rewound: set[Resource] = set()

    @classmethod
    def restore(
        cls,
        policy: Policy,
        memories: Mapping[str, ObjectMemory] | Iterable[ObjectMemory],
        *,
        epoch: int = 1,
        synced: Iterable[Resource | str] = tuple(Resource),
    ) -> Self:
        """A fleet that goes on from what was remembered.

        Args:
            policy: settings of the diff.
            memories: what ``changed`` gave, the last of each key.
            epoch: the epoch that was remembered.
            synced: resources whose first list had been taken up completely; the first list of any other is the
                baseline.
        """
        fleet = cls(policy, epoch=epoch)
        fleet._baseline_taken = {Resource(resource) for resource in synced}
        for memory in memories.values() if isinstance(memories, Mapping) else memories:
            fleet._take_up(memory)
        return fleet

    def _take_up(self, memory: ObjectMemory) -> None:
        if isinstance(memory, StoreMemory):
            self._stores[memory.uid] = memory
            self._around.keep(memory)
            return
        self._tcps[memory.uid] = memory
        if memory.farewell is None:
            self._around.born(memory)
        else:
            self._gone.add(memory.uid)
        self._schedule(memory)

    @property
    def epoch(self) -> int:
        """The epoch that marks ids and sequences."""
        return self._epoch

    def begin_epoch(self) -> int:
        """Begin a new epoch: ids and sequences start anew, what is known stays to be compared with.

        Returns:
            The new epoch.
        """
        self._epoch += 1
        return self._epoch

    def observe(self, observation: Observation[Any], now: float) -> list[Decision]:
        """Conclude what follows from one observation.

        Args:
            observation: what a watch or a list said.
            now: seconds since 1970.
        """
        match observation:
            case SyncStarted():
                return self._sync_started(observation)
            case SyncItem():
                self._syncing.setdefault(observation.resource, set()).add(_uid(observation.snapshot))
                return self._seen(observation.snapshot, now, listed=observation.resource)
            case SyncEnded():
                return self._sync_ended(observation, now)
            case Changed():
                return self._changed_object(observation, now)

    def _sync_started(self, started: SyncStarted) -> list[Decision]:
        resource = started.resource
        self._syncing[resource] = set()
        if started.rewound_from is not None:
            if not self._rewound or resource in self._rewound:
                self.begin_epoch()
                self._rewound = set()
            self._rewound.add(resource)
        return []

    def _sync_ended(self, ended: SyncEnded, now: float) -> list[Decision]:
        seen = self._syncing.pop(ended.resource, set())
        decisions: list[Decision] = []
        if ended.resource is Resource.TENANTCONTROLPLANES:
            for uid in [uid for uid in self._tcps if uid not in seen and uid not in self._gone]:
                decisions += self._tcp_gone(self._tcps[uid], None, now, reconstructed=True)
        else:
            for uid in [uid for uid in self._stores if uid not in seen]:
                decisions += self._store_gone(self._stores[uid], None, now, reconstructed=True)
        self._baseline_taken.add(ended.resource)
        return decisions

    def _changed_object(self, changed: Changed[Any], now: float) -> list[Decision]:
        change = changed.change
        snapshot = change.snapshot
        if snapshot is None or change.type in (ChangeType.BOOKMARK, ChangeType.ERROR):
            return []
        if change.type is not ChangeType.DELETED:
            return self._seen(snapshot, now, listed=None)
        uid = _uid(snapshot)
        known = self._tcps.get(uid) if isinstance(snapshot, TcpSnapshot) else self._stores.get(uid)
        if isinstance(known, StoreMemory):
            return self._store_gone(known, snapshot, now, reconstructed=False)
        if known is None or known.farewell is not None:
            return []
        return self._tcp_gone(known, snapshot, now, reconstructed=False)

    def _seen(self, snapshot: Snapshot, now: float, *, listed: Resource | None) -> list[Decision]:
        baseline = listed is not None and listed not in self._baseline_taken
        reconstructed = listed is not None and not baseline
        if isinstance(snapshot, DataStoreSnapshot):
            return self._store_seen(snapshot, now, baseline=baseline, reconstructed=reconstructed)
        known = self._tcps.get(_uid(snapshot))
        if known is None:
            return self._tcp_new(snapshot, now, baseline=baseline, reconstructed=reconstructed)
        if known.farewell is not None or (listed is None and _older(snapshot, known, self._epoch)):
            return []
        decisions = tcp.change(known, snapshot, now, self.policy, epoch=self._epoch, reconstructed=listed is not None)
        if decisions is None:
            return []
        self._note(known)
        return decisions

    def _tcp_new(self, snapshot: TcpSnapshot, now: float, *, baseline: bool, reconstructed: bool) -> list[Decision]:
        memory = tcp.new_memory(snapshot, self._epoch)
        decisions: list[Decision] = []
        former = self._tcps.get(self._around.namesake(memory) or "")
        if former is not None:
            decisions += self._tcp_gone(former, None, now, reconstructed=True)
        self._tcps[memory.uid] = memory
        self._around.born(memory)
        if baseline:
            decisions += tcp.begin_known(memory, snapshot, now, self.policy, self._epoch)
        else:
            decisions += tcp.begin_new(
                memory, snapshot, now, self.policy, epoch=self._epoch, reconstructed=reconstructed
            )
        self._note(memory)
        if former is not None:
            decisions += self._conclude(former, now)
        return decisions

    def _tcp_gone(
        self, memory: TcpMemory, snapshot: TcpSnapshot | None, now: float, *, reconstructed: bool
    ) -> list[Decision]:
        decisions = tcp.end(memory, snapshot, now, self.policy, epoch=self._epoch, reconstructed=reconstructed)
        self._around.gone(memory)
        self._gone.add(memory.uid)
        self._note(memory)
        return decisions

    def _store_seen(
        self, snapshot: DataStoreSnapshot, now: float, *, baseline: bool, reconstructed: bool
    ) -> list[Decision]:
        uid = _uid(snapshot)
        decisions: list[Decision] = []
        memory = self._stores.get(uid)
        if memory is not None:
            decisions += store.change_store(
                memory, snapshot, now, self.policy, epoch=self._epoch, reconstructed=reconstructed
            )
        else:
            decisions += self._former_store_gone(snapshot, now)
            memory, told = store.begin_store(
                snapshot, now, self.policy, epoch=self._epoch, baseline=baseline, reconstructed=reconstructed
            )
            decisions += told
            self._stores[uid] = memory
        self._around.keep(memory)
        self._changed[uid] = memory
        return decisions + self._conclude_waiting(now)

    def _former_store_gone(self, snapshot: DataStoreSnapshot, now: float) -> list[Decision]:
        name = snapshot.metadata.name if snapshot.metadata else None
        former = self._around.store(name or "")
        return [] if former is None else self._store_gone(former, None, now, reconstructed=True)

    def _store_gone(
        self, memory: StoreMemory, snapshot: DataStoreSnapshot | None, now: float, *, reconstructed: bool
    ) -> list[Decision]:
        decisions = store.end_store(memory, snapshot, now, self.policy, epoch=self._epoch, reconstructed=reconstructed)
        self._stores.pop(memory.uid, None)
        self._around.drop(memory)
        self._changed[memory.uid] = None
        return decisions + self._conclude_waiting(now)

    def _note(self, memory: TcpMemory) -> None:
        self._changed[memory.uid] = memory
        self._schedule(memory)

    def _schedule(self, memory: TcpMemory) -> None:
        self._agenda.enter(memory.uid, clockwork.due(memory, self.policy))

    def _conclude_waiting(self, now: float) -> list[Decision]:
        """A DataStore is another one: some of the objects that are gone may wait for just that."""
        decisions: list[Decision] = []
        for uid in sorted(self._gone):
            decisions += self._conclude(self._tcps[uid], now)
        return decisions

    def _conclude(self, memory: TcpMemory, now: float, *, wait: bool = True) -> list[Decision]:
        teller = Teller(memory, now, epoch=self._epoch)
        if farewell.conclude(memory, teller, self.policy, self._around, wait=wait):
            self._forget(memory)
        return teller.decisions

    def _forget(self, memory: TcpMemory) -> None:
        del self._tcps[memory.uid]
        self._gone.discard(memory.uid)
        self._asking.discard(memory.uid)
        self._agenda.forget(memory.uid)
        self._changed[memory.uid] = None

    def tick(self, now: float) -> list[Decision]:
        """Conclude what follows from time alone: stalled operations, outages, settled loops, waits that are over."""
        decisions: list[Decision] = []
        while (uid := self._agenda.pop(now)) is not None:
            memory = self._tcps.get(uid)
            if memory is None:
                continue
            said = self._clock(memory, now)
            decisions += said
            if said and uid in self._tcps:
                self._changed[uid] = memory
        return decisions

    def _clock(self, memory: TcpMemory, now: float) -> list[Decision]:
        teller = Teller(memory, now, epoch=self._epoch)
        clockwork.strike(memory, teller, self.policy, self._around)
        decisions = teller.decisions + self._conclude(memory, now)
        if memory.uid in self._tcps:
            if clockwork.asks(memory, now, self.policy):
                self._asking.add(memory.uid)
            self._agenda.enter(memory.uid, clockwork.due_after(memory, now, self.policy))
        return decisions

    def next_deadline(self) -> float | None:
        """When to tick next, in seconds since 1970; it may turn out that nothing follows."""
        return self._agenda.next

    def looks(self, now: float) -> list[Look]:
        """Questions that are to be put to the API server now; a question is put again when no answer comes."""
        asked: list[Look] = []
        for uid in sorted(self._asking | self._gone):
            memory = self._tcps.get(uid)
            if memory is None:
                continue
            looks = (farewell.ask(memory, now), stalled.ask_for_job(memory, now, self.policy))
            asked += [look for look in looks if look is not None]
            self._schedule(memory)
        self._asking.clear()
        return asked

    def open_looks(self) -> list[Look]:
        """Every question about what is left that has no final answer yet, whether it is time for it or not."""
        found = (farewell.question(self._tcps[uid]) for uid in sorted(self._gone))
        return [look for look in found if look is not None]

    def looked(self, answer: LookAnswer, now: float) -> list[Decision]:
        """Conclude what follows from an answer; one about an object that nobody waits for any more is ignored."""
        memory = self._tcps.get(answer.look.uid)
        if memory is None:
            return []
        teller = Teller(memory, now, epoch=self._epoch)
        if answer.look.kind is LookKind.MIGRATE_JOB:
            stalled.judge_stalled(memory, teller, self.policy, self._around, jobs=answer.found)
        else:
            farewell.take_answer(memory, answer, self._around, now)
        decisions = teller.decisions + self._conclude(memory, now)
        if memory.uid in self._tcps:
            self._note(memory)
        return decisions

    def finish(self, now: float) -> list[Decision]:
        """Nobody will tell any more: deletions that only wait for a DataStore's word are concluded without it."""
        decisions: list[Decision] = []
        for uid in sorted(self._gone):
            decisions += self._conclude(self._tcps[uid], now, wait=False)
        return decisions

    def changed(self) -> dict[str, ObjectMemory | None]:
        """Memories that changed since the last call, by key; None for one that is forgotten.

        They are the fleet's own: encode them before the next observation.
        """
        changed, self._changed = self._changed, {}
        return changed

    def counts(self) -> dict[str, Any]:
        """How many objects there are, by status."""
        living = [memory for uid, memory in self._tcps.items() if uid not in self._gone]
        words = Counter(memory.facts.word or "Unknown" for memory in living)
        return {
            "tenantcontrolplanes": len(living),
            "datastores": len(self._stores),
            "byStatus": dict(sorted(words.items())),
            "deleting": sum(memory.deleting for memory in living),
            "openOperations": sum(len(memory.operations) for memory in self._tcps.values()),
        }


def _uid(snapshot: Snapshot) -> str:
    meta = snapshot.metadata
    if meta is None or not meta.uid:
        raise ValueError("an object without uid reached the diff")
    return meta.uid


def _older(snapshot: TcpSnapshot, known: TcpMemory, epoch: int) -> bool:
    """A watch line of before what is known: it would say again what was said."""
    seen = (snapshot.metadata.resourceVersion if snapshot.metadata else None) or ""
    if known.epoch != epoch or not (seen.isdigit() and known.version.isdigit()):
        return False
    return int(seen) < int(known.version)
