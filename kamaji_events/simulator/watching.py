"""WATCH: what one client is told, line by line, as the store changes."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from kamaji_events.simulator.history import Expired, Past
from kamaji_events.simulator.kinds import Kind
from kamaji_events.simulator.options import Options
from kamaji_events.simulator.refusal import expired, too_large
from kamaji_events.simulator.selection import Selection
from kamaji_events.simulator.storage import Reader
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.views import View

__all__ = ["Out", "Watch"]

_BATCH = 256
"""Changes that are written together at most."""


class Out(Protocol):
    """Where lines go."""

    async def write(self, content: bytes) -> None:
        """Write; waits while the reader is slow."""


@dataclass
class Watch:
    """One open watch.

    Ends by returning: the server's time is over, an error was told, the reader fell behind the window, or ``end``
    was called.
    """

    store: Store
    kind: Kind
    options: Options
    selection: Selection
    view: View
    out: Out
    bookmark_seconds: float
    """Seconds between two bookmarks."""
    lifetime: float
    """Seconds until the server ends it."""
    reader: Reader = field(init=False)
    _ending: bool = False
    _stopped: bool = False

    def __post_init__(self) -> None:
        self.reader = Reader(self.kind.plural)

    async def run(self) -> None:
        """Tell everything until the end."""
        self.reader.position = self.store.history(self.kind.plural).end
        self.store.listen(self.reader)
        try:
            await self._run()
        finally:
            self.store.forget(self.reader)

    def end(self, *, at_once: bool = False) -> None:
        """Make it return.

        Args:
            at_once: without telling what it was not told yet.
        """
        self._ending = True
        self._stopped = self._stopped or at_once
        self.reader.bell.set()

    async def _run(self) -> None:
        begun = await self._begin()
        if begun is None:
            return
        number, self.reader.position = begun
        floor = max(number, self.store.history(self.kind.plural).newest)
        now = asyncio.get_running_loop().time
        end = now() + self.lifetime
        bookmark = self._next_bookmark(now(), end)
        while not self._stopped:
            self.reader.bell.clear()
            changes = self.store.history(self.kind.plural).since(self.reader.position, _BATCH)
            if changes is None:
                return
            if lines := b"".join(self._lines(changes, number)):
                await self.out.write(lines)
            self.reader.position += len(changes)
            self.store.read_on()
            if len(changes) == _BATCH:
                continue
            if self._ending or now() >= end:
                return
            if now() >= bookmark:
                bookmark = self._next_bookmark(now(), end)
                await self._bookmark(floor)
            await self._wait(min(end, bookmark) - now())

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self.reader.bell.wait()
        except TimeoutError:
            return

    def _next_bookmark(self, now: float, end: float) -> float:
        """Each minute, and two seconds before the end, as a real server does."""
        regular, last = now + self.bookmark_seconds, end - 2.0
        if not self.options.bookmarks:
            return end
        return min(regular, last) if last > now else regular

    async def _bookmark(self, floor: int) -> None:
        """A real server drops bookmarks that are no newer than what a watch was told when it began."""
        if self.store.version > floor:
            await self.out.write(self.view.bookmark(self.store.version))

    async def _begin(self) -> tuple[int, int] | None:
        """Where it begins; what is there already is told first where it was asked for. None when there is no watch."""
        plural, number = self.kind.plural, self.options.number
        history = self.store.history(plural)
        if self.options.initial_events and number and number > self.store.version:
            await self.out.write(too_large(number, self.store.version).line())
            return None
        if self.options.initial_events or not number:
            begun = self.store.version, history.end
            if self.options.initial_events is not False:
                await self._tell_state()
            return begun
        try:
            return number, history.position(number)
        except Expired as error:
            await self.out.write(expired(str(error)).line())
            return None

    async def _tell_state(self) -> None:
        number = self.store.version
        state = self.store.state(self.kind.plural)
        selected = [version for _, version in sorted(state.items()) if self.selection.matches(version)]
        for start in range(0, len(selected), _BATCH):
            some = selected[start : start + _BATCH]
            await self.out.write(b"".join(self.view.line("ADDED", version) for version in some))
        if self.options.bookmarks and (self.options.initial_events or self.options.number == 0):
            await self.out.write(self.view.bookmark(number, end=True))

    def _lines(self, changes: list[Past], number: int) -> Iterator[bytes]:
        for change in changes:
            if change.number > number and not change.lost and (line := self._line(change)):
                yield line

    def _line(self, change: Past) -> bytes | None:
        """What a change means to this watch: an object that leaves the selection is deleted, as far as it can see."""
        was = self.selection.matches(change.before)
        if change.kind == "DELETED":
            return self.view.line("DELETED", change.version) if was else None
        if self.selection.matches(change.version):
            return self.view.line("MODIFIED" if was else "ADDED", change.version)
        if was and change.before is not None:
            return self.view.line("DELETED", change.before.at(change.number))
        return None
