"""Every TenantControlPlane that is known, living or on its way out."""

from collections.abc import Iterable

from publisher.lifecycle import clockwork, farewell, stalled, tcp
from publisher.lifecycle.agenda import Agenda
from publisher.lifecycle.context import Context
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.looks import Look, LookAnswer, LookKind
from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.teller import Teller
from publisher.snapshot import TcpSnapshot

__all__ = ["Tenants"]


class Tenants:
    """Keeps the TenantControlPlanes' memories, and what waits for the clock or for an answer.

    Args:
        context: what the fleet shares.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._memories: dict[str, TcpMemory] = {}
        self._gone: set[str] = set()
        """Objects that are gone, of which something is still to be said."""
        self._waiting: set[str] = set()
        """Those of them that only wait for a DataStore's word."""
        self._asking: set[str] = set()
        """Those about which a question may be due."""
        self._agenda = Agenda()

    def take_up(self, memory: TcpMemory) -> None:
        """Go on with what was remembered."""
        self._memories[memory.uid] = memory
        if memory.farewell is None:
            self._context.around.born(memory)
        else:
            self._gone.add(memory.uid)
            self._asking.add(memory.uid)
            if memory.farewell.clean:
                self._waiting.add(memory.uid)
        self._schedule(memory)

    def seen(self, snapshot: TcpSnapshot, now: float, *, baseline: bool, listed: bool) -> list[Decision]:
        """Conclude what follows from an object's state."""
        known = self._memories.get(_uid(snapshot))
        if known is None:
            return self._new(snapshot, now, baseline=baseline, reconstructed=listed and not baseline)
        context = self._context
        if known.farewell is not None:
            return self._seen_again(known, snapshot, now, listed=listed)
        if not listed and _older(snapshot, known, context.epoch):
            return []
        decisions = tcp.change(known, snapshot, now, context.policy, epoch=context.epoch, reconstructed=listed)
        if decisions is None:
            return []
        self._note(known)
        return decisions

    def _seen_again(self, known: TcpMemory, snapshot: TcpSnapshot, now: float, *, listed: bool) -> list[Decision]:
        """An object that is gone: a late line says nothing; after a step back in time it lives once more."""
        if not listed or known.epoch == self._context.epoch:
            return []
        self._forget(known)
        return self._new(snapshot, now, baseline=False, reconstructed=True)

    def _new(self, snapshot: TcpSnapshot, now: float, *, baseline: bool, reconstructed: bool) -> list[Decision]:
        context = self._context
        memory = tcp.new_memory(snapshot, context.epoch)
        decisions: list[Decision] = []
        former = self._memories.get(context.around.namesake(memory) or "")
        if former is not None:
            decisions += self._end(former, None, now, reconstructed=True)
        self._memories[memory.uid] = memory
        context.around.born(memory)
        if baseline:
            decisions += tcp.begin_known(memory, snapshot, now, context.policy, context.epoch)
        else:
            decisions += tcp.begin_new(
                memory, snapshot, now, context.policy, epoch=context.epoch, reconstructed=reconstructed
            )
        self._note(memory)
        return decisions + self.conclude_waiting(now)

    def deleted(self, snapshot: TcpSnapshot, now: float) -> list[Decision]:
        """Conclude what follows from a DELETED line."""
        memory = self._memories.get(_uid(snapshot))
        if memory is None or memory.farewell is not None:
            return []
        return self._end(memory, snapshot, now, reconstructed=False)

    def missing(self, seen: set[str], now: float) -> list[Decision]:
        """Conclude what follows from a complete list: whatever was not in it is gone."""
        vanished = [memory for uid, memory in self._memories.items() if uid not in seen and uid not in self._gone]
        decisions: list[Decision] = []
        for memory in vanished:
            decisions += self._end(memory, None, now, reconstructed=True)
        return decisions

    def _end(
        self, memory: TcpMemory, snapshot: TcpSnapshot | None, now: float, *, reconstructed: bool
    ) -> list[Decision]:
        context = self._context
        decisions = tcp.end(memory, snapshot, now, context.policy, epoch=context.epoch, reconstructed=reconstructed)
        context.around.gone(memory)
        self._gone.add(memory.uid)
        self._asking.add(memory.uid)
        self._note(memory)
        return decisions

    def _note(self, memory: TcpMemory) -> None:
        self._context.changed[memory.uid] = memory
        self._schedule(memory)

    def _schedule(self, memory: TcpMemory) -> None:
        self._agenda.enter(memory.uid, clockwork.due(memory, self._context.policy))

    def conclude_waiting(self, now: float, *, uids: Iterable[str] | None = None, wait: bool = True) -> list[Decision]:
        """Say of what is gone whatever is certain now.

        Args:
            now: seconds since 1970.
            uids: of these only; by default of all that only wait for a DataStore's word.
            wait: False when nobody will tell any more.
        """
        decisions: list[Decision] = []
        for uid in sorted(self._waiting if uids is None else uids):
            decisions += self._conclude(self._memories[uid], now, wait=wait)
        return decisions

    def _conclude(self, memory: TcpMemory, now: float, *, wait: bool = True) -> list[Decision]:
        context = self._context
        teller = Teller(memory, now, epoch=context.epoch)
        if farewell.conclude(memory, teller, context.policy, context.around, wait=wait):
            self._forget(memory)
        return teller.decisions

    def _forget(self, memory: TcpMemory) -> None:
        del self._memories[memory.uid]
        for uids in (self._gone, self._waiting, self._asking):
            uids.discard(memory.uid)
        self._agenda.forget(memory.uid)
        self._context.changed[memory.uid] = None

    def tick(self, now: float) -> list[Decision]:
        """Conclude what follows from time alone."""
        decisions: list[Decision] = []
        while (uid := self._agenda.pop(now)) is not None:
            memory = self._memories.get(uid)
            if memory is not None:
                decisions += self._strike(memory, now)
        return decisions

    def _strike(self, memory: TcpMemory, now: float) -> list[Decision]:
        context = self._context
        teller = Teller(memory, now, epoch=context.epoch)
        clockwork.strike(memory, teller, context.policy, context.around)
        if teller.decisions:
            context.changed[memory.uid] = memory
        decisions = teller.decisions + self._conclude(memory, now)
        if memory.uid in self._memories:
            if clockwork.asks(memory, now, context.policy):
                self._asking.add(memory.uid)
            self._agenda.enter(memory.uid, clockwork.due_after(memory, now, context.policy))
        return decisions

    @property
    def next_deadline(self) -> float | None:
        """When to tick next."""
        return self._agenda.next

    def looks(self, now: float) -> list[Look]:
        """Questions that are due."""
        asked: list[Look] = []
        for uid in sorted(self._asking):
            memory = self._memories[uid]
            looks = (farewell.ask(memory, now), stalled.ask_for_job(memory, now, self._context.policy))
            asked += [look for look in looks if look is not None]
            self._schedule(memory)
        self._asking.clear()
        return asked

    def open_looks(self) -> list[Look]:
        """Every question about what is left, whether it is due or not."""
        found = (farewell.question(self._memories[uid]) for uid in sorted(self._gone))
        return [look for look in found if look is not None]

    def looked(self, answer: LookAnswer, now: float) -> list[Decision]:
        """Conclude what follows from an answer."""
        memory = self._memories.get(answer.look.uid)
        if memory is None:
            return []
        context = self._context
        teller = Teller(memory, now, epoch=context.epoch)
        if answer.look.kind is LookKind.MIGRATE_JOB:
            stalled.judge_stalled(memory, teller, context.policy, context.around, jobs=answer.found)
        else:
            farewell.take_answer(memory, answer, context.around, now)
            if memory.farewell is not None and memory.farewell.clean:
                self._waiting.add(memory.uid)
        decisions = teller.decisions + self._conclude(memory, now)
        if memory.uid in self._memories:
            self._note(memory)
        return decisions

    def finish(self, now: float) -> list[Decision]:
        """Nobody will tell any more: say what can be said without a DataStore's word."""
        return self.conclude_waiting(now, uids=self._gone, wait=False)

    @property
    def living(self) -> list[TcpMemory]:
        """Those that are in the API."""
        return [memory for uid, memory in self._memories.items() if uid not in self._gone]


def _uid(snapshot: TcpSnapshot) -> str:
    return (snapshot.metadata.uid if snapshot.metadata else None) or ""


def _older(snapshot: TcpSnapshot, known: TcpMemory, epoch: int) -> bool:
    """A watch line of before what is known: it would say again what was said."""
    seen = (snapshot.metadata.resourceVersion if snapshot.metadata else None) or ""
    if known.epoch != epoch or not (seen.isdigit() and known.version.isdigit()):
        return False
    return int(seen) < int(known.version)
