"""From the object's end to the end of what it owned: ``delete.completed``."""

from publisher.lifecycle.looks import Found, Look, LookAnswer, LookKind
from publisher.lifecycle.memory import Farewell, TcpMemory
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.surroundings import Surroundings
from publisher.lifecycle.teller import Teller

__all__ = ["ask", "conclude", "farewell_due", "question", "take_answer"]

_PATIENCE = 30.0
"""Seconds after which a question without an answer is asked again."""
_LONGEST_PAUSE = 30.0
_BLIND_LOOKS = 5
"""Answers without a single kind that could be listed before it is left at that, unverified."""


def farewell_due(memory: TcpMemory, policy: Policy) -> float | None:
    """When to ask again, or when waiting for the DataStore ends."""
    farewell = memory.farewell
    if farewell is None:
        return None
    return farewell.gone + policy.usage_wait if farewell.clean else farewell.look_at


def ask(memory: TcpMemory, now: float) -> Look | None:
    """The question what is left, if it is time for it."""
    farewell = memory.farewell
    if farewell is None or now < farewell.look_at:
        return None
    farewell.look_at = now + _PATIENCE
    return question(memory)


def question(memory: TcpMemory) -> Look | None:
    """The question what is left, unless nothing is."""
    if memory.farewell is None or memory.farewell.clean:
        return None
    return Look(LookKind.CLEANUP, memory.namespace, memory.name, memory.uid)


def take_answer(memory: TcpMemory, answer: LookAnswer, around: Surroundings, now: float) -> None:
    """Note what is left; ask again later, less and less often, while something is."""
    farewell = memory.farewell
    if farewell is None or farewell.clean:
        return
    owned = [found for found in answer.found if _owned(found, memory.uid, around)]
    behind = [found for found in owned if memory.orphaned and memory.uid not in found.owners]
    left = [found for found in owned if found not in behind]
    farewell.verified, farewell.unverified = answer.verified, answer.unverified
    farewell.leftovers, farewell.left = _names(behind), _names(left)
    farewell.looks += 1
    farewell.clean = not left and (bool(answer.verified) or farewell.looks >= _BLIND_LOOKS)
    farewell.look_at = now + min(2.0 ** (farewell.looks - 1), _LONGEST_PAUSE)


def _owned(found: Found, uid: str, around: Surroundings) -> bool:
    """An owner reference to its uid, or none to a living TenantControlPlane."""
    return uid in found.owners or not any(around.lives(owner) for owner in found.owners)


def _names(found: list[Found]) -> tuple[str, ...]:
    return tuple(sorted(f"{item.kind}/{item.name}" for item in found))


def conclude(memory: TcpMemory, teller: Teller, policy: Policy, around: Surroundings, *, wait: bool = True) -> bool:
    """Say ``delete.completed`` if it is certain now; True when nothing is left to be said of the object.

    Args:
        memory: the object's.
        teller: says it.
        policy: how long to wait for the DataStore.
        around: DataStores and namesakes.
        wait: False when nobody will tell any more whether the DataStore lists it.
    """
    farewell, operation = memory.farewell, memory.operation("delete")
    if farewell is None or operation is None or not _certain(farewell, wait=wait):
        return False
    successor = around.namesake(memory)
    used = around.used(memory)
    patient = wait and teller.now < farewell.gone + policy.usage_wait
    if successor is None and used is not False and patient:
        return False
    verified = successor is None and used is False and bool(farewell.verified)
    memory.operations.remove(operation)
    teller.tell(
        "delete.completed",
        reason=_reason(successor, verified=verified),
        operation=operation,
        ended=True,
        own_version=False,
        cleanup="verified" if verified else "unverified",
        verified=list(farewell.verified),
        unverified=list(farewell.unverified),
        leftovers=list(farewell.leftovers),
        recreatedAs=successor,
        namespaceFree=_free(memory, farewell, around),
    )
    return True


def _certain(farewell: Farewell, *, wait: bool) -> bool:
    """Whether nothing is left, or nobody will tell more than that nothing was found."""
    return farewell.clean or (not wait and farewell.looks > 0 and not farewell.left)


def _reason(successor: str | None, *, verified: bool) -> tuple[str, str]:
    if successor is not None:
        return "Recreated", "Nothing that it owned is left; another object of its name lives."
    if verified:
        return "CleanedUp", "Nothing that it owned is left, and no DataStore lists it."
    return "CleanupUnverified", "Nothing that it owned is left; whether its DataStore let go of it is not known."


def _free(memory: TcpMemory, farewell: Farewell, around: Surroundings) -> bool | str:
    if around.inhabited(memory.namespace):
        return False
    return True if "Secret" in farewell.verified else "unknown"
