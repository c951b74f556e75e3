"""Reading the history: the stream behind the exchange, from some time ago up to what a live queue has.

A stream has no end marker and waits silently beyond its end. Its end is found in two ways: the live queue's oldest
message has come by; or the stream stays quiet behind its last chunk, which another reader was shown first. One that
others go on filling is never quiet: without a live queue reading ends where a chunk begins that came later.
Whatever is wrong with a stream closes the whole connection (a bad offset, a get), so give this a connection that
serves nothing else.
"""

import asyncio
from math import ceil
from types import TracebackType
from typing import Self

from kamaji_events.broker.connection import Broker
from kamaji_events.broker.consume import Consumer, Incoming

__all__ = ["Replay"]

_PREFETCH = 500
_PASSED = 10_000
_QUIET = 1.0
"""Seconds of silence that count as the end, behind the last chunk."""
_STUCK = 30
"""Silences in a row that count as the end even though the live queue holds a message that never came by: the
stream has lost it."""


class Replay:
    """The stream's messages of the last ``ago`` seconds, and somewhat earlier: a stream starts at a chunk.

    Iterate over it inside ``async with``; messages are acknowledged as they are taken.

    Args:
        broker: a connection of its own.
        stream: its name, ``Layout.history``.
        ago: seconds, None for all there is; RabbitMQ counts them, so clocks need not agree.
        live: a consumer whose queue was bound before: reading ends when the oldest message that waits there has
            come by.

    Raises:
        TopologyMissing: there is no such stream.
        BrokerUnavailable: the connection was lost.
    """

    def __init__(self, broker: Broker, stream: str, *, ago: float | None, live: Consumer | None = None) -> None:
        self._broker = broker
        self._stream = stream
        self._live = live
        self._last: int | None = None
        self._passed: dict[str, None] = {}
        self._silences = 0
        self._chunk: int | None = None
        self._end: int | None = None
        self._ask_at = 0.0
        self._ended = False
        arguments = {"x-stream-offset": "first" if ago is None else f"{max(1, ceil(ago))}s"}
        self._consumer = broker.consume(stream, _PREFETCH, arguments=arguments)

    async def __aenter__(self) -> Self:
        self._last = self._chunk = await self._last_chunk()
        self._silences = 0 if self._last is not None else 1
        await self._consumer.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._consumer.__aexit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        while not self._caught_up():
            incoming = await _within(self._consumer, _QUIET)
            if incoming is None:
                self._silences += 1
                continue
            self._silences = 0
            await incoming.ack()
            self._remember(incoming)
            await self._find_end(int(incoming.headers.get("x-stream-offset", 0)))
            return incoming
        raise StopAsyncIteration

    def _caught_up(self) -> bool:
        waiting = self._live.upcoming if self._live is not None else None
        if waiting is not None:
            return (waiting.properties.message_id or "") in self._passed or self._silences >= _STUCK
        return self._last is None and (self._silences > 0 or self._ended)

    async def _find_end(self, offset: int) -> None:
        """Without a live queue: what there was at the start lies before any chunk that began after the last of then."""
        if self._live is not None or self._last is not None or self._chunk is None:
            return
        now = asyncio.get_running_loop().time()
        if self._end is None and now >= self._ask_at:
            self._ask_at = now + _QUIET
            last = await self._last_chunk()
            self._end = last if last is not None and last > self._chunk else None
        self._ended = self._end is not None and offset >= self._end - 1

    def _remember(self, incoming: Incoming) -> None:
        """Keep the last ids: the live queue's oldest message is delivered within moments of the stream's copy."""
        if self._last is not None and int(incoming.headers.get("x-stream-offset", 0)) >= self._last:
            self._last = None
        self._passed[incoming.properties.message_id or ""] = None
        if len(self._passed) > _PASSED:
            del self._passed[next(iter(self._passed))]

    async def _last_chunk(self) -> int | None:
        """The offset at which the last chunk begins; None for a stream that is empty."""
        async with self._broker.consume(self._stream, 1, arguments={"x-stream-offset": "last"}) as consumer:
            incoming = await _within(consumer, _QUIET)
            return None if incoming is None else int(incoming.headers.get("x-stream-offset", 0))


async def _within(consumer: Consumer, seconds: float) -> Incoming | None:
    try:
        async with asyncio.timeout(seconds):
            return await anext(consumer)
    except TimeoutError:
        return None
