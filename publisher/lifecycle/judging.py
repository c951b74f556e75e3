"""Open operations, each judged against its own target: a step further, at an end, or as it was."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from publisher.lifecycle.facts import Facts
from publisher.lifecycle.memory import OpenOperation
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.operations import STEPS, rank, tell_steps

__all__ = ["NUMBER_REACHED", "judge_one", "judge_open"]

_ACTING: Final[Mapping[str, str]] = {"upgrade": "Upgrading", "migrate": "Migrating"}
"""Status words with which the operator says that it acts."""


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


NUMBER_REACHED: Final[Mapping[str, Callable[[Facts, int], bool]]] = {"scale": _scaled, "sleep": _asleep, "wake": _awake}


def _judge_replicas(moment: Moment, operation: OpenOperation) -> None:
    if NUMBER_REACHED[operation.kind](moment.new, operation.target):
        _complete(moment, operation, _NUMBER_TOLD[operation.kind])
    else:
        _judge_number(moment, operation)


_NUMBER_TOLD: Final[Mapping[str, tuple[str, str]]] = {
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
        judge_one(moment, operation)


def judge_one(moment: Moment, operation: OpenOperation) -> None:
    """Judge one open operation."""
    moment.migrating = moment.migrating or operation.kind == "migrate"
    _JUDGES[operation.kind](moment, operation)
