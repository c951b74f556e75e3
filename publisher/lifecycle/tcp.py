"""One TenantControlPlane: baseline, first sight, change and end, each in the contract's order."""

from publisher.lifecycle import deletion, looping
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.facts import Facts
from publisher.lifecycle.judging import judge_open
from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.merge import first_seen, merged, seconds_of
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.opening import judge_opening
from publisher.lifecycle.operations import open_operation, tell_steps
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.states import begin_silently, judge_pause, judge_states
from publisher.lifecycle.teller import Teller
from publisher.snapshot.spec import digest, moved_paths
from publisher.snapshot.tcp import TcpSnapshot

__all__ = ["begin_known", "begin_new", "change", "end", "new_memory"]


def new_memory(snapshot: TcpSnapshot, epoch: int) -> TcpMemory:
    """An empty memory of an object that has usable metadata."""
    meta = snapshot.metadata
    if meta is None:
        raise ValueError("an object without metadata reached the diff")
    return TcpMemory(
        uid=meta.uid or "",
        namespace=meta.namespace or "",
        name=meta.name or "",
        version=meta.resourceVersion or "",
        api_version=snapshot.apiVersion or "",
        epoch=epoch,
    )


def begin_known(memory: TcpMemory, snapshot: TcpSnapshot, now: float, policy: Policy, epoch: int) -> list[Decision]:
    """Take up an object of the baseline: nothing is said, what is open is opened silently, its clock starts now."""
    facts = first_seen(snapshot, policy.annotations)
    memory.facts = facts
    memory.spec = digest(snapshot.spec)
    begin_silently(memory, now)
    teller = Teller(memory, now, epoch=epoch, snapshot=snapshot)
    moment = Moment(memory, facts, facts, teller, policy)
    _open_found(moment)
    if policy.announce_existing:
        reason = ("Existing", "It was there when the publisher started for the first time.")
        teller.tell("state.discovered", reason=reason)
    return teller.decisions


def _open_found(moment: Moment) -> None:
    """Open what the baseline's object is in the midst of; no step of it is told yet."""
    facts = moment.new
    asked_by = str(facts.generation) if facts.generation else ""
    if facts.deleting:
        open_operation(moment, "delete", "", at=facts.deleting if facts.deleting > 1.0 else None)
    elif not moment.memory.created:
        open_operation(moment, "create", "", at=_created_at(moment))
    else:
        _open_found_edits(moment, asked_by)


def _open_found_edits(moment: Moment, asked_by: str) -> None:
    facts = moment.new
    for kind, word, running, wanted in (
        ("upgrade", "Upgrading", facts.version, facts.wanted_version),
        ("migrate", "Migrating", facts.store, facts.wanted_store),
    ):
        if running and wanted and running != wanted:
            operation = open_operation(moment, kind, asked_by, source=running, target=wanted)
            if operation is not None and facts.word == word:
                operation.reached, operation.started_at = 2, moment.teller.now
    if facts.wanted == 0 and facts.replicas > 0:
        open_operation(moment, "sleep", asked_by, target=0)
    elif facts.wanted != 0 and facts.word == "Sleeping":
        open_operation(moment, "wake", asked_by, source=0, target=facts.wanted)
    if facts.word == "CertificateAuthorityRotating" and (checksum := facts.certificates.get("ca")):
        moment.memory.rotated = [checksum]
        open_operation(moment, "rotation", checksum)


def _created_at(moment: Moment) -> float | None:
    snapshot = moment.teller.snapshot
    meta = snapshot.metadata if snapshot is not None else None
    return seconds_of(meta.creationTimestamp if meta else None) or None


def begin_new(
    memory: TcpMemory, snapshot: TcpSnapshot, now: float, policy: Policy, *, epoch: int, reconstructed: bool
) -> list[Decision]:
    """Take up an object that was not there before: its creation has started, and its facts are told."""
    moment = _moment(memory, snapshot, now, policy, epoch=epoch, reconstructed=reconstructed)
    moment.first = True
    moment.presumed = bool(moment.new.version)
    memory.spec = digest(snapshot.spec)
    operation = open_operation(moment, "create", "", at=_created_at(moment))
    if operation is not None:
        tell_steps(moment.teller, operation)
    _judge(moment)
    return moment.teller.decisions


def change(
    memory: TcpMemory, snapshot: TcpSnapshot, now: float, policy: Policy, *, epoch: int, reconstructed: bool
) -> list[Decision] | None:
    """Conclude what follows from another state of a known object; None when nothing at all moved."""
    facts = merged(memory.facts, snapshot, policy.annotations)
    meta = snapshot.metadata
    version = (meta.resourceVersion if meta else None) or memory.version
    if facts is memory.facts and (version == memory.version or _nothing_waits(memory)):
        memory.version = version
        return None
    moment = _moment(memory, snapshot, now, policy, epoch=epoch, reconstructed=reconstructed, facts=facts)
    if memory.deleting:
        judge_pause(moment)
        deletion.note_orphaning(moment)
    else:
        _judge(moment)
    return moment.teller.decisions


def _nothing_waits(memory: TcpMemory) -> bool:
    """Whether a bare resourceVersion cannot end anything: a rotation ends at a later one that may say no more."""
    return not any(operation.kind == "rotation" for operation in memory.operations)


def _moment(
    memory: TcpMemory,
    snapshot: TcpSnapshot,
    now: float,
    policy: Policy,
    *,
    epoch: int,
    reconstructed: bool,
    facts: Facts | None = None,
) -> Moment:
    old = memory.facts
    new = merged(old, snapshot, policy.annotations) if facts is None else facts
    meta = snapshot.metadata
    memory.facts = new
    memory.version = (meta.resourceVersion if meta else None) or memory.version
    teller = Teller(memory, now, epoch=epoch, snapshot=snapshot, reconstructed=reconstructed)
    return Moment(
        memory,
        old,
        new,
        teller,
        policy,
        was_created=memory.created,
        was_limited=memory.limited,
        presumed=reconstructed and not memory.created and not old.version and bool(new.version),
    )


def _judge(moment: Moment) -> None:
    memory, old, new = moment.memory, moment.old, moment.new
    if not moment.first and old.spec_seen != new.spec_seen and moment.teller.snapshot is not None:
        after = digest(moment.teller.snapshot.spec)
        if old.spec_seen:  # a spec that was never read, or is only recalled from events, is no difference
            moment.paths = moved_paths(memory.spec, after)
        memory.spec = after
    looping.note_changes(moment)
    judge_open(moment)
    judge_opening(moment)
    judge_states(moment)
    if new.deleting:
        deletion.begin_deletion(moment)


def end(
    memory: TcpMemory, snapshot: TcpSnapshot | None, now: float, policy: Policy, *, epoch: int, reconstructed: bool
) -> list[Decision]:
    """Conclude that the object is gone; its last state is the snapshot, or what is remembered."""
    decisions: list[Decision] = []
    if snapshot is not None:
        decisions += change(memory, snapshot, now, policy, epoch=epoch, reconstructed=reconstructed) or []
    teller = Teller(memory, now, epoch=epoch, reconstructed=reconstructed)
    moment = Moment(memory, memory.facts, memory.facts, teller, policy)
    deletion.finalize(moment)
    return decisions + teller.decisions
