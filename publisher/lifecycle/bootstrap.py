"""The inside of the tenant: its RBAC and tokens, which Kamaji's soot manager sets up once the API serves.

Kamaji marks a failed try with an annotation, takes the mark away within moments and tries again by itself. So the
mark alone is not told: it is when it stands, or when try after try failed.
"""

from typing import Final

from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.teller import Teller

__all__ = ["SOOT", "bootstrap_due", "judge_bootstrap", "judge_bootstrap_failure"]

SOOT = "kamaji.clastix.io/soot"

_HOLD: Final = 10.0
_TRIES: Final = 3


def judge_bootstrap(moment: Moment) -> None:
    """Bootstrapped, or marked as failed."""
    memory, old, new = moment.memory, moment.old, moment.new
    if new.bootstrap and not old.bootstrap:
        memory.bootstrap_failures, memory.bootstrap_failure_told = 0, False
        reason = ("Bootstrapped", "The tenant's bootstrap token is there: RBAC and tokens work.")
        moment.teller.tell("bootstrap.completed", reason=reason)
    if new.soot_failed == old.soot_failed:
        return
    memory.bootstrap_failed_at = moment.teller.now if new.soot_failed else 0.0
    if new.soot_failed:
        memory.bootstrap_failures += 1
        if memory.bootstrap_failures >= _TRIES:
            _tell_failure(memory, moment.teller)


def _tell_failure(memory: TcpMemory, teller: Teller) -> None:
    memory.bootstrap_failed_at = 0.0
    if memory.bootstrap_failure_told:
        return
    memory.bootstrap_failure_told = True
    said = f"Kamaji set {SOOT}=failed ({memory.bootstrap_failures} times): addons and RBAC there are not reconciled."
    teller.tell("bootstrap.failed", reason=("SootFailed", said))


def bootstrap_due(memory: TcpMemory) -> float | None:
    """When the mark has stood for long enough, if nothing changes."""
    if not memory.bootstrap_failed_at or memory.bootstrap_failure_told or memory.deleting:
        return None
    return memory.bootstrap_failed_at + _HOLD


def judge_bootstrap_failure(memory: TcpMemory, teller: Teller) -> None:
    """Say that the bootstrap failed, once the mark has stood for long enough."""
    due = bootstrap_due(memory)
    if due is not None and teller.now >= due:
        _tell_failure(memory, teller)
