"""One DataStore: created, ready or not, used by whom, deleted.

Kamaji leaves a DataStore ready while its database is dead: what is told here is what Kamaji says.
"""

from typing import Any

from kamaji_events import identity
from kamaji_events.catalogue import Kind
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.memory import StoreMemory
from publisher.lifecycle.merge import seconds_of
from publisher.lifecycle.policy import Policy
from publisher.snapshot.datastore import DataStoreSnapshot, DataStoreStatus

__all__ = ["StoreTeller", "begin_store", "change_store", "end_store"]

_API_VERSION = "kamaji.clastix.io/v1alpha1"
_VALIDATION = "kamaji.clastix.io/DataStoreValidation"


class StoreTeller:
    """Tells about one DataStore at one moment.

    Args:
        memory: the DataStore's; its counter grows with each event.
        now: when it is seen.
        epoch: the fleet's.
        reconstructed: it happened while nobody watched.
    """

    def __init__(self, memory: StoreMemory, now: float, *, epoch: int, reconstructed: bool = False) -> None:
        self.memory = memory
        self.now = now
        self.epoch = epoch
        self.reconstructed = reconstructed
        self.decisions: list[Decision] = []
        if memory.epoch != epoch:
            memory.epoch, memory.counter = epoch, 0

    def tell(
        self,
        name: str,
        reason: tuple[str, str],
        *,
        change: tuple[str, Any, Any] | None = None,
        seconds: float | None = None,
        **details: Any,
    ) -> None:
        """Say one event."""
        memory = self.memory
        memory.counter += 1
        self.decisions.append(
            Decision(
                kind=Kind.DATASTORE,
                name=name,
                id=identity.state_id(memory.uid, memory.version, name, epoch=self.epoch),
                sequence=identity.sequence(self.epoch, memory.counter),
                uid=memory.uid,
                namespace=None,
                object_name=memory.name,
                seconds=seconds or self.now,
                object=_object(memory),
                state=_state(memory),
                change=change,
                reason=reason,
                reconstructed=self.reconstructed,
                details=details,
            )
        )


def _object(memory: StoreMemory) -> dict[str, Any]:
    return {
        "apiVersion": memory.api_version or _API_VERSION,
        "kind": "DataStore",
        "namespace": None,
        "name": memory.name,
        "uid": memory.uid,
        "generation": memory.generation or None,
        "resourceVersion": memory.version,
        "labels": memory.labels,
        "annotations": memory.annotations,
    }


def _state(memory: StoreMemory) -> dict[str, Any]:
    return {
        "ready": memory.ready,
        "driver": memory.driver or None,
        "usedBy": len(memory.used_by),
        "deleting": memory.deleting,
    }


def begin_store(
    snapshot: DataStoreSnapshot, now: float, policy: Policy, *, epoch: int, baseline: bool, reconstructed: bool
) -> tuple[StoreMemory, list[Decision]]:
    """Take up a DataStore; one of the baseline is not announced."""
    meta = snapshot.metadata
    if meta is None:
        raise ValueError("an object without metadata reached the diff")
    memory = StoreMemory(uid=meta.uid or "", name=meta.name or "", version="", watched_from_birth=not baseline)
    memory.epoch = epoch
    if baseline:
        _refresh(memory, snapshot, policy)
        if snapshot.status is not None:
            memory.ready = snapshot.status.ready
            memory.used_by = tuple(snapshot.status.usedBy or ())
        memory.deletion_told = memory.deletion_silent = memory.deleting
        return memory, []
    teller = StoreTeller(memory, now, epoch=epoch, reconstructed=reconstructed)
    _refresh(memory, snapshot, policy)
    created = seconds_of(meta.creationTimestamp)
    teller.tell("state.created", ("Created", "The DataStore is there."), seconds=created)
    _judge(memory, snapshot, teller)
    return memory, teller.decisions


def change_store(
    memory: StoreMemory, snapshot: DataStoreSnapshot, now: float, policy: Policy, *, epoch: int, reconstructed: bool
) -> list[Decision]:
    """Conclude what follows from another state of a known DataStore."""
    teller = StoreTeller(memory, now, epoch=epoch, reconstructed=reconstructed)
    _refresh(memory, snapshot, policy)
    _judge(memory, snapshot, teller)
    return teller.decisions


def _refresh(memory: StoreMemory, snapshot: DataStoreSnapshot, policy: Policy) -> None:
    meta = snapshot.metadata
    if meta is None:
        return
    annotations = meta.annotations or {}
    memory.version = meta.resourceVersion or memory.version
    memory.api_version = snapshot.apiVersion or memory.api_version
    memory.generation = meta.generation or memory.generation
    memory.labels = meta.labels or {}
    memory.annotations = {name: annotations[name] for name in policy.annotations if name in annotations}
    if snapshot.spec is not None and snapshot.spec.driver:
        memory.driver = snapshot.spec.driver
    memory.deleting = memory.deleting or bool(meta.deletionTimestamp)


def _judge(memory: StoreMemory, snapshot: DataStoreSnapshot, teller: StoreTeller) -> None:
    status = snapshot.status
    if status is not None:
        before = memory.used_by
        memory.used_by = tuple(status.usedBy or ())
        _judge_ready(memory, status, teller)
        _judge_usage(memory, before, teller)
    if memory.deleting and not memory.deletion_told:
        memory.deletion_told = True
        asked = seconds_of(snapshot.metadata.deletionTimestamp) if snapshot.metadata else 0.0
        teller.tell("delete.started", ("DeletionRequested", "It has a deletionTimestamp."), seconds=asked)


def _judge_ready(memory: StoreMemory, status: DataStoreStatus, teller: StoreTeller) -> None:
    ready, before = status.ready, memory.ready
    if ready is None or ready == before:
        return
    memory.ready = ready
    if before is None and not memory.watched_from_birth:
        return  # a field that appears with an operator's upgrade is no event
    at = _transition(status, ready=ready, now=teller.now)
    tenants, change = list(memory.used_by), ("status.ready", before, ready)
    if ready:
        teller.tell("state.ready", ("Ready", "Kamaji can use it."), change=change, seconds=at, tenants=tenants)
    else:
        reason = ("NotReady", f"Nothing is reconciled for its {len(tenants)} tenants.")
        teller.tell("state.notready", reason, change=change, seconds=at, tenants=tenants)


def _transition(status: DataStoreStatus, *, ready: bool, now: float) -> float | None:
    word = "True" if ready else "False"
    for condition in status.conditions or ():
        if condition.type == _VALIDATION and condition.status == word:
            at = seconds_of(condition.lastTransitionTime)
            return at if 0 < at <= now else None
    return None


def _judge_usage(memory: StoreMemory, before: tuple[str, ...], teller: StoreTeller) -> None:
    old, new = set(before), set(memory.used_by)
    if old == new:
        return
    added, removed = sorted(new - old), sorted(old - new)
    reason = ("UsageChanged", f"{len(added)} more and {len(removed)} fewer tenants use it.")
    teller.tell("usage.changed", reason, added=added, removed=removed)


def end_store(
    memory: StoreMemory,
    snapshot: DataStoreSnapshot | None,
    now: float,
    policy: Policy,
    *,
    epoch: int,
    reconstructed: bool,
) -> list[Decision]:
    """Conclude that the DataStore is gone."""
    decisions: list[Decision] = []
    if snapshot is not None:
        decisions += change_store(memory, snapshot, now, policy, epoch=epoch, reconstructed=reconstructed)
    teller = StoreTeller(memory, now, epoch=epoch, reconstructed=reconstructed)
    if not memory.deletion_told or memory.deletion_silent:
        memory.deleting, memory.deletion_told, memory.deletion_silent = True, True, False
        teller.tell("delete.started", ("DeletionRequested", "It is gone without a word before."))
    teller.tell("delete.completed", ("ObjectGone", "The DataStore is gone from the API."))
    return decisions + teller.decisions
