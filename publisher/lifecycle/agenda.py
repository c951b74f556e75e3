"""When the clock alone may decide something, for ten thousand objects without looking at each."""

import heapq

__all__ = ["Agenda"]


class Agenda:
    """Keys by the time at which they are due: at most a few entries a key, no scan.

    An entry may come up earlier than its key is due, when what it stood for moved away; never later.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._entered: dict[str, float] = {}

    def enter(self, key: str, due: float | None) -> None:
        """Note when a key is due; None when nothing waits for it."""
        if due is None:
            return
        entered = self._entered.get(key)
        if entered is not None and entered <= due:
            return
        self._entered[key] = due
        heapq.heappush(self._heap, (due, key))

    @property
    def next(self) -> float | None:
        """The earliest entry."""
        self._skip()
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> str | None:
        """The next key that came up until now, None when there is none (any more)."""
        self._skip()
        if not self._heap or self._heap[0][0] > now:
            return None
        _, key = heapq.heappop(self._heap)
        del self._entered[key]
        return key

    def _skip(self) -> None:
        """Drop entries that an earlier one of the same key replaced."""
        while self._heap and self._entered.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)

    def forget(self, key: str) -> None:
        """The key is gone."""
        self._entered.pop(key, None)
