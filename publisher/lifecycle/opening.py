"""New operations: each opens when it is asked for, once for each asker, and is judged at once."""

from publisher.lifecycle.judging import NUMBER_REACHED, judge_one
from publisher.lifecycle.memory import OpenOperation
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.operations import open_operation, tell_steps

__all__ = ["judge_opening"]

_REMEMBERED_ROTATIONS = 8


def _begin(moment: Moment, operation: OpenOperation | None) -> None:
    """Say that it opened, then judge it at once: it may already have its end."""
    if operation is None:
        return
    tell_steps(moment.teller, operation)
    judge_one(moment, operation)


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
    if moment.new.deleting and not NUMBER_REACHED[kind](moment.new, wanted):
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
