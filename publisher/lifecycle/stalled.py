"""Operations that take too long, and whatever can be read about why."""

from collections.abc import Iterator

from publisher.lifecycle.looks import Found, Look, LookKind
from publisher.lifecycle.memory import OpenOperation, TcpMemory
from publisher.lifecycle.operations import STEPS, rank, tell_steps
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.surroundings import Surroundings
from publisher.lifecycle.teller import Teller

__all__ = ["ask_for_job", "judge_stalled", "limit_of", "stalled_due"]

_JOB_PATIENCE = 10.0
"""Seconds to wait for word of the migrate Job."""

Blocker = dict[str, str]


def limit_of(memory: TcpMemory, kind: str, policy: Policy) -> float:
    """Seconds that an operation of this object may be open: its own annotation goes before the settings."""
    own = memory.facts.migration_timeout if kind == "migrate" else 0.0
    return own or policy.limit(kind)


def stalled_due(memory: TcpMemory, policy: Policy) -> float | None:
    """When the next operation counts as stalled, if nothing changes."""
    if not memory.operations:  # of ten thousand objects nearly all
        return None
    waiting = (operation for operation in memory.operations if not operation.stalled)
    return min((_due(memory, operation, policy) for operation in waiting), default=None)


def _due(memory: TcpMemory, operation: OpenOperation, policy: Policy) -> float:
    due = operation.opened + limit_of(memory, operation.kind, policy)
    if operation.kind == "migrate" and memory.job_asked:
        return max(due, memory.job_asked + _JOB_PATIENCE)
    return due


def ask_for_job(memory: TcpMemory, now: float, policy: Policy) -> Look | None:
    """The question for the migrate Job, once a migration has taken too long."""
    operation = memory.operation("migrate")
    if operation is None or operation.stalled or memory.job_asked:
        return None
    if now < operation.opened + limit_of(memory, "migrate", policy):
        return None
    memory.job_asked = now
    return Look(LookKind.MIGRATE_JOB, memory.namespace, memory.name, memory.uid)


def judge_stalled(
    memory: TcpMemory, teller: Teller, policy: Policy, around: Surroundings, *, jobs: tuple[Found, ...] | None = None
) -> None:
    """Say which operations are stalled; a migration waits for word of its Job (``jobs``), but not for long."""
    for operation in sorted(memory.operations, key=rank):
        if operation.stalled or teller.now < operation.opened + limit_of(memory, operation.kind, policy):
            continue
        if operation.kind == "migrate" and jobs is None and _waits_for_job(memory, teller.now):
            continue
        _tell(memory, operation, teller, policy, around, jobs or ())


def _waits_for_job(memory: TcpMemory, now: float) -> bool:
    return not memory.job_asked or now < memory.job_asked + _JOB_PATIENCE


def _tell(
    memory: TcpMemory,
    operation: OpenOperation,
    teller: Teller,
    policy: Policy,
    around: Surroundings,
    jobs: tuple[Found, ...],
) -> None:
    operation.stalled = True
    memory.job_asked = 0.0 if operation.kind == "migrate" else memory.job_asked
    tell_steps(teller, operation)
    at = _stalled_at(memory, operation)
    blockers = list(_blockers(memory, operation, around, jobs))
    limit = limit_of(memory, operation.kind, policy)
    said = "; ".join(blocker["message"] for blocker in blockers) or "nothing that can be read says why"
    reason = ("Stalled", f"Open for more than {limit:.0f} s, at {at}: {said}.")
    teller.tell(f"{operation.kind}.stalled", reason=reason, operation=operation, stalledAt=at, blockers=blockers)


def _stalled_at(memory: TcpMemory, operation: OpenOperation) -> str:
    if operation.kind != "create":
        return STEPS[operation.kind][operation.reached - 1]
    if memory.facts.version:
        return "deployment"
    return memory.facts.missing or "controlPlaneEndpoint"


def _blockers(
    memory: TcpMemory, operation: OpenOperation, around: Surroundings, jobs: tuple[Found, ...]
) -> Iterator[Blocker]:
    facts = memory.facts
    if facts.paused:
        yield _blocker("Paused", "Kamaji does not reconcile it: the annotation kamaji.clastix.io/paused is there")
    if operation.kind in ("upgrade", "migrate") and operation.reached == 1:
        said = "requested but never started: the tenant's API server does not answer, or the request was not taken"
        yield _blocker("NotStarted", said)
    if operation.kind == "upgrade" and facts.word == "WriteLimited":
        yield _blocker("WritesLimited", "the version is not confirmed while writes are limited")
    if operation.kind == "delete":
        yield from _deletion_blockers(memory)
    if memory.farewell is None:
        yield from _store_blockers(memory, operation, around)
    if operation.kind != "delete":
        yield from _running_blockers(memory)
    for job in jobs:
        state = job.state or "of unknown state"
        told = f"migrate Job {job.name} is {state}" + (f": {job.message}" if job.message else "")
        yield _blocker("MigrateJob", told)


def _deletion_blockers(memory: TcpMemory) -> Iterator[Blocker]:
    farewell, finalizers = memory.farewell, memory.facts.finalizers
    if farewell is None and finalizers:
        yield _blocker("FinalizersLeft", f"finalizers left: {', '.join(finalizers)}")
    if farewell is not None and farewell.left:
        yield _blocker("ObjectsLeft", f"not gone yet: {', '.join(farewell.left)}")


def _store_blockers(memory: TcpMemory, operation: OpenOperation, around: Surroundings) -> Iterator[Blocker]:
    facts = memory.facts
    names = [facts.store or facts.wanted_store]
    if operation.kind in ("create", "migrate"):
        names.append(facts.wanted_store)
    for name in dict.fromkeys(name for name in names if name):
        store = around.store(name)
        if store is None:
            yield _blocker("DataStoreMissing", f"DataStore {name} does not exist")
        elif store.ready is False:
            yield _blocker("DataStoreNotReady", f"DataStore {name} is not ready")


def _running_blockers(memory: TcpMemory) -> Iterator[Blocker]:
    facts = memory.facts
    if not facts.endpoint:
        yield _blocker("NoEndpoint", "it has no endpoint: no address was assigned to its service")
    for trouble in facts.troubles:
        why = ": ".join(part for part in (trouble.reason, trouble.message) if part)
        said = f"Deployment {trouble.type}={trouble.status}"
        yield _blocker("DeploymentCondition", f"{said} ({why})" if why else said)


def _blocker(reason: str, message: str) -> Blocker:
    return {"reason": reason, "message": message}
