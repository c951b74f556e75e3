"""Changes that nobody asked for, again and again.

A status word that changes ten times within a minute, or a Deployment's generation or a certificate that does so
five times, while metadata.generation stands still, is a loop. It is told once; what loops is counted instead of
told until two minutes are quiet.
"""

from typing import Final

from publisher.lifecycle.memory import LoopMemory, TcpMemory
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.teller import Teller

__all__ = ["counted", "judge_looping", "judge_settled", "note_changes", "settled_due"]

WINDOW: Final = 60.0
QUIET: Final = 120.0
_MANY: Final = 10
_FEW: Final = 5
_MANY_KINDS: Final = frozenset({"status", "kubeconfig", "credentials"})
"""Kinds of which ten changes are a loop. A healthy CA rotation writes the kubeconfig twice, so five are too few."""


def note_changes(moment: Moment) -> None:
    """Remember what moved; to be called before anything is judged."""
    memory, old, new = moment.memory, moment.old, moment.new
    kinds = _moved_kinds(moment)
    asked = old.generation != new.generation
    if asked and memory.loop is not None:
        memory.loop.times = {}
        memory.loop = memory.loop if memory.loop.looping else None
    for kind in kinds:
        if not asked or counted(moment, kind):
            memory.loop = memory.loop or LoopMemory()
            _note(memory.loop, kind, moment.teller.now)
    moment.moved_authority = "certificate:ca" in kinds and not counted(moment, "certificate:ca")
    moment.moved_certificates = [kind.partition(":")[2] for kind in kinds if kind.startswith("certificate:")]


def _moved_kinds(moment: Moment) -> list[str]:
    old, new = moment.old, moment.new
    if moment.first:
        return []
    kinds = [f"certificate:{name}" for name in _moved(old.certificates, new.certificates)]
    if old.word and old.word != new.word:
        kinds.append("status")
    if old.rollout and old.rollout != new.rollout:
        kinds.append("deployment")
    if old.kubeconfig and old.kubeconfig != new.kubeconfig:
        kinds.append("kubeconfig")
    if old.credentials and old.credentials != new.credentials:
        kinds.append("credentials")
    return kinds


def _moved(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return [name for name, checksum in new.items() if old.get(name, checksum) != checksum] if old is not new else []


def _note(loop: LoopMemory, kind: str, now: float) -> None:
    times = [at for at in loop.times.get(kind, ()) if at > now - WINDOW]
    times.append(now)
    loop.times[kind] = times[-_needed(kind) :]
    if kind in loop.looping:
        loop.looping[kind] += 1
        loop.last = now


def _needed(kind: str) -> int:
    return _MANY if kind in _MANY_KINDS else _FEW


def counted(moment: Moment, kind: str) -> bool:
    """Whether a kind of change loops: it is counted, not told."""
    loop = moment.memory.loop
    return loop is not None and kind in loop.looping


def judge_looping(moment: Moment) -> None:
    """Say that a loop began; another kind that joins it is only noted."""
    loop = moment.memory.loop
    if loop is None:
        return
    found = [kind for kind, times in loop.times.items() if kind not in loop.looping and len(times) >= _needed(kind)]
    begins = bool(found) and not loop.looping
    for kind in found:
        loop.looping[kind] = 0
    if not begins:
        return
    loop.since = loop.last = moment.teller.now
    reason = ("Loop", f"{', '.join(found)} changed again and again within a minute, and nobody asked for it.")
    moment.teller.tell("state.looping", reason=reason, loop={"kinds": found, "changes": sum(map(_needed, found))})


def settled_due(memory: TcpMemory) -> float | None:
    """When a loop has been quiet for long enough, if nothing changes."""
    if memory.loop is None or not memory.loop.looping or memory.deleting:
        return None
    return memory.loop.last + QUIET


def judge_settled(memory: TcpMemory, teller: Teller) -> None:
    """Say that a loop is over, once it has been quiet for long enough."""
    due = settled_due(memory)
    loop = memory.loop
    if due is None or loop is None or teller.now < due:
        return
    memory.loop = None
    told = {"kinds": sorted(loop.looping), "changes": sum(loop.looping.values())}
    reason = ("Quiet", f"Quiet for two minutes; {told['changes']} more changes were counted.")
    teller.tell("state.settled", reason=reason, durationSeconds=round(teller.now - loop.since, 3), loop=told)
