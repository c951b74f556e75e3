"""Control planes that are created one after the other under a publisher in trouble."""

from tests.support.installation import Installation, Replica, eventually
from tests.support.inventing import Invented

__all__ = ["Playing"]


class Playing:
    """Control planes that are created one after the other, each told whole in the end."""

    def __init__(self, place: Installation, replica: Replica) -> None:
        self._place, self._replica = place, replica
        self._lists = 0
        self.subjects: list[str] = []

    async def begin(self) -> None:
        """Lead, and tell of the first."""
        await self._replica.leading()
        await self._place.ears.synced("a")
        self.more()
        await self.whole()
        assert self._replica.problem() == ""
        self._lists = self._replica.syncs()

    def more(self, count: int = 1) -> None:
        """Create some."""
        for _ in range(count):
            self.subjects.append(Invented(self._place.sim.store, f"tcp-{len(self.subjects)}").create())

    async def whole(self) -> None:
        """Wait until everything of everyone was told."""
        ears = self._place.ears
        await ears.until(lambda: all(ears.names(each).count("addons.changed") == 2 for each in self.subjects))

    async def trouble(self, word: str) -> None:
        """Wait until readiness says what is wrong."""
        await eventually(lambda: word in self._replica.problem(), self._replica.problem)

    async def over(self) -> None:
        """Wait until it has recovered; everything was told, from the same watches, without another list."""
        self.more()
        await self.whole()
        await eventually(lambda: self._replica.problem() == "", self._replica.problem)
        first = self._place.ears.names(self.subjects[0])
        assert all(self._place.ears.names(each) == first for each in self.subjects)
        assert self._replica.syncs() == self._lists
        self._place.ears.check()
