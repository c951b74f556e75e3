"""The bytes of one answer on their way out, and what can go wrong with them."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from kamaji_events.simulator.watching import Watch

__all__ = ["OpenWatch", "Wire"]

_PIECE = 16 * 1024


class Wire:
    """One answer's way to its reader.

    Args:
        request: what is answered.
        response: the begun answer.
        thawed: unset while nothing may go out.
        rate: tells the bytes a second that go out, None for as many as the reader takes.
    """

    def __init__(
        self,
        request: web.Request,
        response: web.StreamResponse,
        thawed: asyncio.Event,
        rate: Callable[[], float | None],
    ) -> None:
        self._request = request
        self._response = response
        self._thawed = thawed
        self._rate = rate
        self._lock = asyncio.Lock()
        self._last = b""
        self._closed = False

    def close(self) -> None:
        """The answer is complete: whatever is still to be said into it is dropped."""
        self._closed = True

    async def write(self, content: bytes) -> None:
        """Write; waits while the reader, or a fault, is slow. Into a closed wire nothing is written."""
        async with self._lock:
            for start in range(0, len(content), _PIECE if self._rate() else max(len(content), 1)):
                await self._thawed.wait()
                if self._closed:
                    return
                piece = content[start : start + _PIECE] if self._rate() else content
                await self._response.write(piece)
                if rate := self._rate():
                    await asyncio.sleep(len(piece) / rate)
            self._last = content

    def half_a_line(self) -> bytes:
        """The first half of the latest line, or of a made-up one."""
        line = self._last.splitlines()[-1] if self._last else b'{"type":"MODIFIED","object":{"metadata":{"name":"'
        return line[: max(1, len(line) // 2)]

    def abort(self) -> None:
        """Reset the connection."""
        if not self._closed and self._request.transport is not None:  # it may serve another request by now
            self._request.transport.abort()


class OpenWatch:
    """A watch that is being told, and where it goes.

    Args:
        watch: what is told.
        wire: its answer.
    """

    def __init__(self, watch: Watch, wire: Wire) -> None:
        self._watch = watch
        self._wire = wire

    @property
    def resource(self) -> str:
        """Plural of its kind."""
        return self._watch.kind.plural

    def end(self, *, at_once: bool = False) -> None:
        """End it in good order, as when its time is over."""
        self._watch.end(at_once=at_once)

    async def say(self, line: bytes) -> None:
        """Put a line into it."""
        await self._wire.write(line)

    async def break_line(self) -> None:
        """Put half a line into it."""
        await self._wire.write(self._wire.half_a_line())

    def abort(self) -> None:
        """Reset its connection."""
        self._watch.end(at_once=True)
        self._wire.abort()
