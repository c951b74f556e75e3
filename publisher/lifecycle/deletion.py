"""From the deletionTimestamp to the end of the object."""

from publisher.lifecycle.memory import Farewell, OpenOperation, TcpMemory
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.operations import open_operation, rank, tell_steps
from publisher.lifecycle.teller import Teller

__all__ = ["begin_deletion", "finalize", "note_orphaning"]

_ORPHAN = "orphan"


def begin_deletion(moment: Moment) -> None:
    """Say that it is being deleted: the last of its resourceVersion."""
    memory = moment.memory
    operation = open_operation(moment, "delete", "", at=_deleted_at(moment))
    if operation is not None:
        tell_steps(moment.teller, operation)
    note_orphaning(moment)
    _silence(memory)


def note_orphaning(moment: Moment) -> None:
    """Kubernetes notes the order to leave dependents behind as a finalizer, and removes it when that is done."""
    moment.memory.orphaned = moment.memory.orphaned or _ORPHAN in moment.new.finalizers


def _deleted_at(moment: Moment) -> float:
    """When it was asked for; a malformed timestamp tells only that it was."""
    told = moment.new.deleting
    return told if told > 1.0 else moment.teller.now


def _silence(memory: TcpMemory) -> None:
    """From here on only the deletion and pauses are told."""
    memory.loop = None
    memory.down_since = memory.outage_since = memory.bootstrap_failed_at = 0.0
    memory.degraded = False


def _cancel_open(memory: TcpMemory, teller: Teller) -> None:
    """End every open operation: the object vanished without a word, so no deletion is among them."""
    for operation in sorted(memory.operations, key=rank):
        tell_steps(teller, operation)
        memory.operations.remove(operation)
        reason = ("Deleted", "The object is gone.")
        teller.tell(f"{operation.kind}.cancelled", reason=reason, operation=operation, ended=True)


def finalize(moment: Moment) -> None:
    """Say that the object is gone from the API, with what was skipped on the way."""
    memory = moment.memory
    operation = memory.operation("delete")
    if operation is None:
        _cancel_open(memory, moment.teller)
        operation = open_operation(moment, "delete", "", at=_deleted_at(moment))
    if operation is None:
        return
    tell_steps(moment.teller, operation)
    _silence(memory)
    _tell_finalized(moment, operation)
    note_orphaning(moment)
    memory.farewell = Farewell(gone=moment.teller.now, look_at=moment.teller.now)


def _tell_finalized(moment: Moment, operation: OpenOperation) -> None:
    operation.reached = operation.told = 2
    moment.teller.tell(
        "delete.finalized",
        reason=("ObjectGone", "The object is gone from the API; what it owned may still be there."),
        operation=operation,
        finalizers=list(moment.new.finalizers),
    )
