"""Replays a recording into a store, verbatim, with its own resourceVersions: at its speed, another one, or by steps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, cast

from kamaji_events.recording import RecordedLine
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.timeline import Moment, Timeline, versions_of_list, whole_version
from kamaji_events.simulator.version import Version

if TYPE_CHECKING:
    from kamaji_events.simulator.history import ChangeKind

__all__ = ["Replay"]

_BREATH = 200
"""Changes after which other tasks get their turn when nothing is waited for."""


class Replay:
    """One recording on its way into a store.

    Made by ``of`` from recorded lines, which may be out of order, or by ``lazily`` from ``multiply``'s, which are
    never in memory all at once.

    Args:
        store: takes the changes; its present content is left alone.
        baseline: objects that are there from the start.
        start: the resourceVersion at which the changes begin.
        moments: the changes, in order.
        announce: the server is being watched already, so that the baseline is told as ADDED; else it was always there.
    """

    def __init__(
        self,
        store: Store,
        baseline: Iterable[Version],
        start: int,
        moments: Iterable[Moment],
        *,
        announce: bool = False,
    ) -> None:
        self._store = store
        self._moments = iter(moments)
        self._next: Moment | None = None
        for version in sorted(baseline, key=lambda version: version.number):
            if announce:
                store.say("ADDED", version)
            else:
                store.load(version)
        if not announce:
            store.begin_at(max(start, store.version))
        self.told = 0
        """Changes made so far."""

    @classmethod
    def of(cls, store: Store, lines: Iterable[RecordedLine], *, announce: bool = False) -> "Replay":
        """Replay a recording."""
        timeline = Timeline.of(lines)
        return cls(store, timeline.baseline, timeline.start, timeline.moments, announce=announce)

    @classmethod
    def lazily(cls, store: Store, lines: Iterable[RecordedLine], *, announce: bool = False) -> "Replay":
        """Replay lines that are in order: a header, a LIST of each kind, then changes by resourceVersion."""
        stream = iter(lines)
        baseline: list[Version] = []
        start, first = 0, None
        for line in stream:
            if line.type == "LIST":
                number, versions = versions_of_list(line)
                baseline, start = baseline + versions, max(start, number)
            elif line.type != "HEADER":
                first = line
                break
        return cls(store, baseline, start, _moments(first, stream), announce=announce)

    def step(self, count: int = 1) -> int:
        """Make the next changes at once; gives how many there were."""
        done = 0
        for moment in islice(self, count):
            self._store.say(moment.change, moment.version)
            done += 1
        self.told += done
        return done

    def __iter__(self) -> Iterator[Moment]:
        while (moment := self._take()) is not None:
            yield moment

    def _take(self) -> Moment | None:
        moment, self._next = self._next, None
        return moment if moment is not None else next(self._moments, None)

    async def run(
        self, speed: float | None = 1.0, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Make all changes that are left.

        Args:
            speed: how many times faster than recorded; None for as fast as possible.
            sleep: waits.
        """
        async for moment in self._paced(speed, sleep):
            self._store.say(moment.change, moment.version)
            self.told += 1
            if self.told % _BREATH == 0:
                await self._store.keep_pace()

    async def _paced(self, speed: float | None, sleep: Callable[[float], Awaitable[None]]) -> AsyncIterator[Moment]:
        clock = asyncio.get_running_loop().time
        begun, first = clock(), None
        for number, moment in enumerate(self):
            if first is None:
                first = moment.at
            ahead = (moment.at - first) / speed - (clock() - begun) if speed else 0.0
            if ahead > 0 or number % _BREATH == 0:
                self._next = moment  # so that a cancelled run can be taken up again
                await sleep(max(ahead, 0.0))
                self._next = None
            yield moment


def _moments(first: RecordedLine | None, stream: Iterator[RecordedLine]) -> Iterator[Moment]:
    line: RecordedLine | None = first
    while line is not None:
        version = whole_version(line.resource, line.object)
        yield Moment(line.at, cast("ChangeKind", line.type), version)
        line = next(stream, None)
