"""One open watch: chunks to lines to changes, with garbage set aside and silence noticed."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Generic, TypeVar

import orjson

from kamaji_events.errors import ClusterUnavailable
from publisher.observation import Change, ChangeType, Decoder
from publisher.watch.ask import Ask
from publisher.watch.lines import LineSplitter, LineTooLongError
from publisher.watch.source import Source
from publisher.watch.stats import WatchStats
from publisher.watch.status import status_failure

__all__ = ["StreamBrokenError", "StreamSilentError", "WatchStream"]

_log = logging.getLogger(__name__)

S = TypeVar("S")


class StreamBrokenError(ClusterUnavailable):
    """A line was no JSON or had no end: nothing that follows can be trusted."""


class StreamSilentError(ClusterUnavailable):
    """Nothing was said for longer than a living watch can keep silent."""


class WatchStream(Generic[S]):
    """Reads one watch until the server ends it.

    Args:
        source: what is asked.
        ask: the watch.
        decoder: makes changes of lines.
        stats: counts.
        silence: tells the seconds between two lines at most.
        lifetime: seconds after which the stream is ended from here, although the server did not.
        on_open: called once the server accepted the watch.
    """

    def __init__(
        self,
        source: Source,
        ask: Ask,
        decoder: Decoder[S],
        stats: WatchStats,
        *,
        silence: Callable[[], float],
        lifetime: float,
        on_open: Callable[[], None],
    ) -> None:
        self._source = source
        self._ask = ask
        self._decoder = decoder
        self._stats = stats
        self._splitter = LineSplitter()
        self._waited = 0.0
        self._ends = lifetime
        self._on_open = on_open
        self._silence = silence

    async def changes(self) -> AsyncGenerator[Change[S], None]:
        """Every change in order; ERROR lines are raised, bookmarks are given on.

        Raises:
            ClusterError: what an ERROR line means, or how the stream ended.
            StreamBrokenError: a line was no JSON.
            StreamSilentError: nothing came for ``silence`` seconds.
        """
        async with self._source.stream(self._ask) as chunks:
            self._stats.watches += 1
            self._stats.heard = asyncio.get_running_loop().time()
            self._ends += self._stats.heard
            self._on_open()
            while chunk := await self._chunk(chunks):
                for line in self._lines(chunk):
                    change = self._change(line)
                    if change is not None:
                        yield change
        if self._splitter.rest().strip():
            raise ClusterUnavailable(f"{self._source.server} cut {self._ask.verb} {self._ask.target} inside a line")

    async def _chunk(self, chunks: AsyncIterator[bytes]) -> bytes:
        """The next chunk; empty at the end, whoever makes it."""
        silence = self._silence()
        began = asyncio.get_running_loop().time()
        dead = began + silence - self._waited
        try:
            async with asyncio.timeout_at(min(dead, self._ends)):
                return await anext(chunks, b"")
        except TimeoutError:
            if dead > self._ends:
                return b""
            self._stats.silent += 1
            raise StreamSilentError(
                f"{self._source.server} said nothing about {self._ask.target} for {silence:.0f} s: "
                "the watch is taken for dead"
            ) from None
        finally:
            # Only waiting counts: a reader that takes its time is not the server's silence
            self._waited += asyncio.get_running_loop().time() - began

    def _lines(self, chunk: bytes) -> list[bytes]:
        self._stats.bytes += len(chunk)
        self._stats.heard = asyncio.get_running_loop().time()
        try:
            lines = self._splitter.feed(chunk)
        except LineTooLongError as error:
            raise self._broken(str(error)) from error
        if lines:
            self._stats.lines += len(lines)
            self._waited = 0.0
        return lines

    def _change(self, line: bytes) -> Change[S] | None:
        try:
            change = self._decoder.line(line)
        except ValueError as error:
            self._set_aside(line, error)
            return None
        if change.type is ChangeType.ERROR:
            if change.status is None:
                raise self._broken("an ERROR without a status")
            raise status_failure(change.status, self._ask, self._source.server)
        return change

    def _set_aside(self, line: bytes, error: ValueError) -> None:
        """Skip what is JSON at least; its text may hold anything, so only its size and begin are logged."""
        try:
            orjson.loads(line)
        except orjson.JSONDecodeError as cause:
            raise self._broken("a line that is no JSON") from cause
        self._stats.garbage += 1
        _log.warning(
            "a watch line of %s is no usable object and is skipped: %s",
            self._ask.target,
            " ".join(str(error).split())[:200],
            extra={"resource": str(self._ask.target), "bytes": len(line)},
        )

    def _broken(self, what: str) -> StreamBrokenError:
        self._stats.broken += 1
        return StreamBrokenError(f"{self._source.server} sent {what} in {self._ask.verb} {self._ask.target}")
