"""Every DataStore that is known."""

from collections.abc import Iterator

from publisher.lifecycle import store
from publisher.lifecycle.context import Context
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.memory import StoreMemory
from publisher.snapshot import DataStoreSnapshot

__all__ = ["Stores"]


class Stores:
    """Keeps the DataStores' memories.

    Args:
        context: what the fleet shares.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._memories: dict[str, StoreMemory] = {}

    def __len__(self) -> int:
        return len(self._memories)

    def take_up(self, memory: StoreMemory) -> None:
        """Go on with what was remembered."""
        self._memories[memory.uid] = memory
        self._context.around.keep(memory)

    def seen(self, snapshot: DataStoreSnapshot, now: float, *, baseline: bool, listed: bool) -> list[Decision]:
        """Conclude what follows from a DataStore's state."""
        context, uid, decisions = self._context, _uid(snapshot), list(self._former_gone(snapshot, now))
        memory = self._memories.get(uid)
        if memory is None:
            memory, told = store.begin_store(
                snapshot, now, context.policy, epoch=context.epoch, baseline=baseline, reconstructed=listed
            )
            decisions += told
        else:
            decisions += store.change_store(
                memory, snapshot, now, context.policy, epoch=context.epoch, reconstructed=listed
            )
        self.take_up(memory)
        context.changed[uid] = memory
        return decisions

    def _former_gone(self, snapshot: DataStoreSnapshot, now: float) -> Iterator[Decision]:
        """Another one of its name: that one is gone, though nobody said so."""
        name = snapshot.metadata.name if snapshot.metadata else None
        former = self._context.around.store(name or "")
        if former is not None and former.uid != _uid(snapshot):
            yield from self._gone(former, None, now, reconstructed=True)

    def deleted(self, snapshot: DataStoreSnapshot, now: float) -> list[Decision]:
        """Conclude what follows from a DELETED line."""
        memory = self._memories.get(_uid(snapshot))
        return [] if memory is None else self._gone(memory, snapshot, now, reconstructed=False)

    def missing(self, seen: set[str], now: float) -> list[Decision]:
        """Conclude what follows from a complete list: whatever was not in it is gone."""
        decisions: list[Decision] = []
        for memory in [memory for uid, memory in self._memories.items() if uid not in seen]:
            decisions += self._gone(memory, None, now, reconstructed=True)
        return decisions

    def _gone(
        self, memory: StoreMemory, snapshot: DataStoreSnapshot | None, now: float, *, reconstructed: bool
    ) -> list[Decision]:
        context = self._context
        decisions = store.end_store(
            memory, snapshot, now, context.policy, epoch=context.epoch, reconstructed=reconstructed
        )
        del self._memories[memory.uid]
        context.around.drop(memory)
        context.changed[memory.uid] = None
        return decisions


def _uid(snapshot: DataStoreSnapshot) -> str:
    return (snapshot.metadata.uid if snapshot.metadata else None) or ""
