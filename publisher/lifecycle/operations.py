"""The operations of a TenantControlPlane: each opens once, takes its steps once, and ends once.

First the open ones are judged, in the order of the contract's table, each against its own target; then new ones
open, likewise. Deletion closes what is open and comes last, see ``deletion``.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kamaji_events.catalogue import OPERATIONS
from publisher.lifecycle.facts import Facts
from publisher.lifecycle.memory import OpenOperation
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.teller import Teller

__all__ = ["STEPS", "judge_open", "judge_opening", "open_operation", "rank", "tell_steps"]

STEPS: Final[Mapping[str, tuple[str, ...]]] = {
    "create": ("started",),
    "upgrade": ("requested", "started"),
    "migrate": ("requested", "started"),
    "scale": ("started",),
    "sleep": ("started",),
    "wake": ("started",),
    "rotation": ("started",),
    "delete": ("started", "finalized"),
}
"""The steps before an operation's end."""

ASKED: Final[Mapping[str, str]] = {
    "create": "metadata.name",
    "upgrade": "spec.kubernetes.version",
    "migrate": "spec.dataStore",
    "scale": "spec.controlPlane.deployment.replicas",
    "sleep": "spec.controlPlane.deployment.replicas",
    "wake": "spec.controlPlane.deployment.replicas",
}
"""The field with which somebody asks for it."""

_ACTING: Final[Mapping[str, str]] = {"upgrade": "Upgrading", "migrate": "Migrating"}
_REPLICAS = ("scale", "sleep", "wake")
_REMEMBERED_ROTATIONS = 8
_RANKS: Final[Mapping[str, int]] = {kind: rank for rank, kind in enumerate(OPERATIONS)}


def tell_steps(teller: Teller, operation: OpenOperation) -> None:
    """Say the steps that were taken and not told."""
    steps = STEPS[operation.kind]
    while operation.told < operation.reached:
        step = operation.told
        operation.told += 1
        field = ASKED.get(operation.kind)
        first = step == 0
        teller.tell(
            f"{operation.kind}.{steps[step]}",
            reason=_step_reason(operation, steps[step]),
            change=(field, operation.source, operation.target)
            if first and field and operation.kind != "create"
            else None,
            operation=operation,
            seconds=operation.started_at if operation.kind in ("create", "delete") and first else None,
            asked=[field] if first and field else None,
        )


def _step_reason(operation: OpenOperation, step: str) -> tuple[str, str] | None:
    kind, source, target = operation.kind, operation.source, operation.target
    told = {
        "create.started": ("Created", "The object is there; the operator has to build it."),
        "upgrade.requested": ("VersionRequested", f"{target} is wanted, {source} runs."),
        "upgrade.started": ("Upgrading", f"The operator works on {target}."),
        "migrate.requested": ("DataStoreRequested", f"DataStore {target} is wanted, {source} is used."),
        "migrate.started": ("Migrating", f"The operator moves the data to {target}; writes are blocked meanwhile."),
        "scale.started": ("ReplicasRequested", f"{target} replicas are wanted instead of {source}."),
        "sleep.started": ("SleepRequested", "No replica is wanted any more."),
        "wake.started": ("WakeRequested", f"{target} replicas are wanted after none."),
        "rotation.started": ("CertificateAuthorityMoved", "The certificate authority is another one now."),
        "delete.started": ("DeletionRequested", "The object has a deletionTimestamp."),
        "delete.finalized": ("ObjectGone", "The object is gone from the API; what it owned may still be there."),
    }
    return told.get(f"{kind}.{step}")


def open_operation(
    moment: Moment, kind: str, asked_by: str, *, source: Any = None, target: Any = None, at: float | None = None
) -> OpenOperation | None:
    """Open an operation, unless one of its kind was opened for the same asker before."""
    memory, now = moment.memory, moment.teller.now
    if kind in ("upgrade", "migrate", *_REPLICAS):
        if _used(memory.used.get(kind), asked_by):
            return None
        memory.used[kind] = asked_by
    begun = now if at is None else at
    operation = OpenOperation(
        kind=kind,
        asked_by=asked_by,
        epoch=moment.teller.epoch,
        opened=now,
        requested_at=begun if "requested" in STEPS[kind] else None,
        started_at=None if "requested" in STEPS[kind] else begun,
        source=source,
        target=target,
        reached=1,
        version=memory.version,
        rollout=moment.old.rollout,
        reconstructed=moment.reconstructed,
    )
    memory.operations.append(operation)
    return operation


def _used(last: str | None, asked_by: str) -> bool:
    if last is None:
        return False
    return int(asked_by) <= int(last) if asked_by.isdigit() and last.isdigit() else asked_by == last


def _end(moment: Moment, operation: OpenOperation, word: str, reason: tuple[str, str], **details: Any) -> None:
    tell_steps(moment.teller, operation)
    moment.memory.operations.remove(operation)
    moment.teller.tell(f"{operation.kind}.{word}", reason=reason, operation=operation, ended=True, **details)


def _complete(moment: Moment, operation: OpenOperation, reason: tuple[str, str], **details: Any) -> None:
    """End an operation at its goal, every step on the way included."""
    steps = STEPS[operation.kind]
    operation.reached = max(operation.reached, len(steps))
    if operation.started_at is None:
        operation.started_at = moment.teller.now
    _end(moment, operation, "completed", reason, **details)


def _cancelled_by_deletion(moment: Moment, operation: OpenOperation) -> bool:
    if not moment.new.deleting:
        return False
    _end(moment, operation, "cancelled", ("Deleted", "The object is being deleted."))
    return True


def _judge_create(moment: Moment, operation: OpenOperation) -> None:
    new = moment.new
    if new.version and (new.serves or new.asleep or moment.presumed):
        moment.creation_ends = moment.memory.created = True
        word = ("Asleep", "It is built and asleep.") if new.asleep else ("Serving", f"It serves {new.version}.")
        _complete(moment, operation, word)
    else:
        _cancelled_by_deletion(moment, operation)


def _judge_upgrade(moment: Moment, operation: OpenOperation) -> None:
    new = moment.new
    if new.version == operation.target:
        rolled = new.rolled_out and (not new.rollout or new.rollout != operation.rollout)
        reason = ("VersionReached", f"{new.version} is in status, {operation.source} was before.")
        _complete(moment, operation, reason, rolledOut=rolled)
    elif not _cancelled_by_deletion(moment, operation):
        _judge_wanted(moment, operation, new.version, new.wanted_version)


def _judge_migrate(moment: Moment, operation: OpenOperation) -> None:
    new = moment.new
    if new.store == operation.target and (new.serves or new.asleep):
        _complete(moment, operation, ("Migrated", f"It uses DataStore {new.store}."))
    elif not _cancelled_by_deletion(moment, operation):
        _judge_wanted(moment, operation, new.store, new.wanted_store)


def _judge_wanted(moment: Moment, operation: OpenOperation, running: str, wanted: str) -> None:
    """Another target ends it; else the operator may have begun to act."""
    if wanted == operation.target:
        if operation.reached == 1 and moment.new.word == _ACTING[operation.kind]:
            operation.reached = 2
            operation.started_at = moment.teller.now
            tell_steps(moment.teller, operation)
    elif wanted == running == operation.source:
        _end(moment, operation, "cancelled", ("TakenBack", f"{running} is wanted again."))
    else:
        _end(moment, operation, "superseded", ("AnotherTarget", f"{wanted} is wanted instead of {operation.target}."))


def _scaled(new: Facts, target: int) -> bool:
    return new.seen and new.ready >= target and 0 <= new.replicas <= target


def _asleep(new: Facts, _target: int) -> bool:
    return new.asleep


def _awake(new: Facts, _target: int) -> bool:
    return new.seen and new.serves


_REACHED: Final[Mapping[str, Callable[[Facts, int], bool]]] = {"scale": _scaled, "sleep": _asleep, "wake": _awake}


def _judge_replicas(moment: Moment, operation: OpenOperation) -> None:
    if _REACHED[operation.kind](moment.new, operation.target):
        _complete(moment, operation, _NUMBER_REACHED[operation.kind])
    else:
        _judge_number(moment, operation)


_NUMBER_REACHED: Final[Mapping[str, tuple[str, str]]] = {
    "scale": ("Scaled", "As many replicas as wanted are ready and no more exist."),
    "sleep": ("Asleep", "No replica is wanted and none exists."),
    "wake": ("Serving", "It serves again."),
}


def _judge_number(moment: Moment, operation: OpenOperation) -> None:
    if _cancelled_by_deletion(moment, operation) or moment.new.wanted == operation.target:
        return
    reason = ("AnotherNumber", f"{moment.new.wanted} replicas are wanted instead of {operation.target}.")
    _end(moment, operation, "superseded", reason)


def _judge_rotation(moment: Moment, operation: OpenOperation) -> None:
    memory = moment.memory
    moment.rotating = True
    opening = operation.version == memory.version
    operation.moved += [name for name in moment.moved_certificates if name not in operation.moved]
    done = operation.reconstructed if opening else moment.new.serves
    if done:
        reason = ("Serving", "It serves with the new certificate authority.")
        _complete(moment, operation, reason, certificates=sorted(operation.moved))
    elif _cancelled_by_deletion(moment, operation):
        return
    elif moment.moved_authority and not opening:
        _end(moment, operation, "cancelled", ("MovedAgain", "The certificate authority moved once more."))


_JUDGES: Final[Mapping[str, Callable[[Moment, OpenOperation], None]]] = {
    "create": _judge_create,
    "upgrade": _judge_upgrade,
    "migrate": _judge_migrate,
    "scale": _judge_replicas,
    "sleep": _judge_replicas,
    "wake": _judge_replicas,
    "rotation": _judge_rotation,
}


def judge_open(moment: Moment) -> None:
    """Judge the operations that were opened earlier."""
    for operation in sorted(moment.memory.operations, key=rank):
        moment.migrating = moment.migrating or operation.kind == "migrate"
        _JUDGES[operation.kind](moment, operation)


def rank(operation: OpenOperation) -> int:
    """Its place in the order of the contract's table."""
    return _RANKS[operation.kind]


def _begin(moment: Moment, operation: OpenOperation | None) -> None:
    """Say that it opened, then judge it at once: it may already have its end."""
    if operation is None:
        return
    moment.migrating = moment.migrating or operation.kind == "migrate"
    tell_steps(moment.teller, operation)
    _JUDGES[operation.kind](moment, operation)


def judge_opening(moment: Moment) -> None:
    """Open what is asked for now, in the order of the table.

    Of an object that is being deleted only what has already reached its goal: the rest would be cancelled at once.
    """
    if not moment.memory.created:
        return
    asked_by = str(moment.new.generation) if moment.new.generation else ""
    _open_target(moment, "upgrade", asked_by, ("version", "wanted_version"))
    _open_target(moment, "migrate", asked_by, ("store", "wanted_store"))
    if moment.creation_ends:
        if moment.new.wanted == 0 and not moment.new.asleep and not moment.new.deleting:
            _begin(moment, open_operation(moment, "sleep", asked_by, target=0))
        return
    if moment.was_created:
        _open_number(moment, asked_by)
        _open_rotation(moment)


def _open_target(moment: Moment, kind: str, asked_by: str, fields: tuple[str, str]) -> None:
    """An upgrade or a migration: what is wanted differs, or it began and ended while nobody looked."""
    if moment.memory.operation(kind) is not None:
        return
    running, wanted = (getattr(moment.new, name) for name in fields)
    before, wanted_before = (getattr(moment.old, name) for name in fields)
    if not running or not wanted:
        return
    if running != wanted:
        if moment.new.deleting:
            return
        _begin(moment, open_operation(moment, kind, asked_by, source=running, target=wanted))
    elif moment.was_created and before and before != running and wanted_before and wanted_before != wanted:
        _begin(moment, open_operation(moment, kind, asked_by, source=before, target=wanted))


def _open_number(moment: Moment, asked_by: str) -> None:
    before, wanted = moment.old.wanted, moment.new.wanted
    if before == wanted:
        return
    kind = "sleep" if wanted == 0 else "wake" if before == 0 else "scale"
    if moment.new.deleting and not _REACHED[kind](moment.new, wanted):
        return
    _begin(moment, open_operation(moment, kind, asked_by, source=before, target=wanted))


def _open_rotation(moment: Moment) -> None:
    memory = moment.memory
    checksum = moment.new.certificates.get("ca", "")
    if not moment.moved_authority or memory.operation("rotation") is not None or checksum in memory.rotated:
        return
    if moment.new.deleting and not moment.reconstructed:
        return
    memory.rotated = [*memory.rotated, checksum][-_REMEMBERED_ROTATIONS:]
    _begin(moment, open_operation(moment, "rotation", checksum))
