"""What happened to the objects of one kind, as far back as the window reaches."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Literal

from kamaji_events.simulator.version import Version

__all__ = ["ChangeKind", "Expired", "History", "Past"]

ChangeKind = Literal["ADDED", "MODIFIED", "DELETED"]
_number = attrgetter("number")
_SLACK = 4096
"""Forgotten changes that may stay in memory until they are dropped together."""


class Expired(Exception):  # noqa: N818 - says what is the matter, as the project's own errors do
    """What happened after the resourceVersion asked for is partly forgotten; ``oldest`` is the first that is not."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


@dataclass(frozen=True, slots=True)
class Past:
    """One change."""

    number: int
    """Its resourceVersion."""
    kind: ChangeKind
    version: Version
    """The object after it; what was deleted, at the deletion's resourceVersion."""
    before: Version | None = None
    """The object before it."""
    lost: bool = False
    """The watch cache lost it: no watch tells it, a list shows its effect."""


class History:
    """Changes in the order of their resourceVersions.

    Args:
        window: how many are kept.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._changes: list[Past] = []
        self._start = 0
        """Index of the first change that is not forgotten."""
        self._dropped = 0
        """Changes that were before the list's first."""
        self.compacted = 0
        """Every change up to this resourceVersion may be gone."""

    @property
    def end(self) -> int:
        """Position behind the newest change."""
        return self._dropped + len(self._changes)

    @property
    def newest(self) -> int:
        """The resourceVersion of the newest change, 0 when there was none."""
        return self._changes[-1].number if self._changes else 0

    def append(self, change: Past) -> None:
        """Add the newest change."""
        self._changes.append(change)
        if len(self._changes) - self._start > self._window:
            self._forget(self._start + 1)

    def _forget(self, start: int) -> None:
        if start > self._start:
            self.compacted = max(self.compacted, self._changes[start - 1].number)
            self._start = start
        if self._start > _SLACK:
            del self._changes[: self._start]
            self._dropped += self._start
            self._start = 0

    def compact(self, number: int) -> None:
        """Forget everything up to a resourceVersion."""
        self._forget(max(self._start, bisect_right(self._changes, number, key=_number)))
        self.compacted = max(self.compacted, number)

    def check(self, number: int) -> None:
        """Raise unless everything after a resourceVersion is still here.

        Raises:
            Expired: something after it was forgotten.
        """
        if number < self.compacted:
            raise Expired(number, self.compacted)

    def position(self, number: int) -> int:
        """Position of the first change after a resourceVersion.

        Raises:
            Expired: see ``check``.
        """
        self.check(number)
        return self._dropped + bisect_right(self._changes, number, lo=self._start, key=_number)

    def since(self, position: int, most: int) -> list[Past] | None:
        """At most that many changes from a position on; None when some of them are already forgotten."""
        index = position - self._dropped
        return None if index < self._start else self._changes[index : index + most]

    def undo(self, state: dict[str, Version], number: int) -> dict[str, Version]:
        """What the present state was at a resourceVersion.

        Args:
            state: the present; it is left as it is.
            number: the resourceVersion.

        Raises:
            Expired: see ``check``.
        """
        first = self.position(number) - self._dropped
        then = dict(state)
        for change in reversed(list(islice(self._changes, first, None))):
            then.pop(change.version.key, None)
            if change.before is not None:
                then[change.before.key] = change.before
        return then

    def copy(self) -> "History":
        """An independent copy."""
        copied = History(self._window)
        copied._changes = self._changes[self._start :]
        copied._dropped, copied.compacted = self._dropped + self._start, self.compacted
        return copied
