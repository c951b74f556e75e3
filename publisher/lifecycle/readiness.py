"""Ready or not, degraded or not, and the outage that a person is paged for."""

from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.teller import Teller

__all__ = ["judge_outage", "judge_readiness", "outage_due"]


def judge_readiness(moment: Moment) -> None:
    """Ready, not ready, degraded, recovered, and the end of an outage."""
    _count_flips(moment)
    fell = False
    if moment.new.serves or (moment.presumed and moment.memory.ready is None):
        _rise(moment)
    if moment.new.fallen and not moment.new.serves:
        fell = _fall(moment)
    _outage_clock(moment)
    if not fell:
        _judge_degraded(moment)
    _end_outage(moment)


def _rise(moment: Moment) -> None:
    memory, new = moment.memory, moment.new
    if memory.ready:
        return
    memory.ready, memory.unclear = True, False
    reason = ("Serving", f"Status {new.word or 'unknown'}, {new.ready} of {new.wanted} replicas are ready.")
    moment.teller.tell("state.ready", reason=reason, change=_moved_word(moment), seconds=_transition(moment, "True"))


def _fall(moment: Moment) -> bool:
    memory, new = moment.memory, moment.new
    if not memory.ready and not (memory.ready is None and memory.unclear):
        return False
    memory.ready, memory.unclear, memory.degraded = False, False, False
    memory.flips = 0
    if new.wanted == 0:
        reason = ("Sleeping", "No replica is wanted.")
    else:
        reason = ("Unavailable", f"Status {new.word or 'unknown'}, {new.ready} of {new.wanted} replicas are ready.")
    moment.teller.tell(
        "state.notready", reason=reason, change=_moved_word(moment), seconds=_transition(moment, "False")
    )
    return True


def _moved_word(moment: Moment) -> tuple[str, str | None, str] | None:
    old, new = moment.old.word, moment.new.word
    return ("status.kubernetesResources.version.status", old or None, new) if old != new else None


def _transition(moment: Moment, status: str) -> float | None:
    """When the Deployment says that it happened: asked only about what nobody watched."""
    new = moment.new
    moved = new.available_since > moment.old.available_since
    return new.available_since if moment.reconstructed and new.available == status and moved else None


def _count_flips(moment: Moment) -> None:
    if moment.memory.ready is False and moment.old.word != moment.new.word:
        moment.memory.flips += 1


def _outage_clock(moment: Moment) -> None:
    """The clock runs while it is not ready although replicas are wanted; sleeping is no outage."""
    memory = moment.memory
    if memory.ready is not False or moment.new.wanted == 0:
        memory.down_since = 0.0
    elif not memory.down_since:
        memory.down_since = moment.teller.now


def _end_outage(moment: Moment) -> None:
    memory = moment.memory
    if not memory.outage_since or not memory.ready:
        return
    lasted = round(moment.teller.now - memory.outage_since, 3)
    flips, memory.outage_since, memory.flips = memory.flips, 0.0, 0
    reason = ("Serving", f"It serves again after {lasted:.0f} s.")
    moment.teller.tell("outage.ended", reason=reason, durationSeconds=lasted, flips=flips)


def _judge_degraded(moment: Moment) -> None:
    memory, new = moment.memory, moment.new
    if not memory.ready:
        return
    told = f"{new.ready} of {new.wanted} replicas are ready."
    if not memory.degraded:
        if new.ready < new.wanted and not new.deleting and not _explained(memory):
            memory.degraded = True
            moment.teller.tell("state.degraded", reason=("ReplicasMissing", told))
    elif new.ready >= new.wanted > 0:
        memory.degraded = False
        moment.teller.tell("state.recovered", reason=("ReplicasComplete", told))


def _explained(memory: TcpMemory) -> bool:
    """A started operation is open; one that is only requested explains nothing."""
    return any(operation.started_at is not None for operation in memory.operations)


def outage_due(memory: TcpMemory, policy: Policy) -> float | None:
    """When an outage begins, if nothing changes."""
    if not memory.down_since or memory.outage_since or memory.deleting:
        return None
    return memory.down_since + policy.outage_hold


def judge_outage(memory: TcpMemory, teller: Teller, policy: Policy) -> None:
    """Say that the outage began, once the hold has passed."""
    due = outage_due(memory, policy)
    if due is None or teller.now < due:
        return
    memory.outage_since = memory.down_since
    lasted = round(teller.now - memory.down_since)
    reason = ("Unavailable", f"Not ready for {lasted} s: status {memory.facts.word or 'unknown'}.")
    teller.tell("outage.started", reason=reason)
