"""A TCP proxy that can cut connections, or swallow what passes as if the other node were gone."""

import asyncio
from types import TracebackType
from typing import Self

from yarl import URL

__all__ = ["Proxy"]


class Proxy:
    """Stands between a client and RabbitMQ; ``async with Proxy.to(url) as proxy: connect(proxy.url)``."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._left: int | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def to(cls, url: str) -> "Proxy":
        """A proxy before that broker."""
        return cls(URL(url))

    @property
    def url(self) -> str:
        """Connect here."""
        assert self._server is not None
        return str(self._url.with_host("127.0.0.1").with_port(self._server.sockets[0].getsockname()[1]))

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Reset every connection."""
        for writer in self._writers:
            writer.transport.abort()

    def turn_to(self, url: str) -> None:
        """Lead new connections to another node; those that are open stay as they are."""
        self._url = self._url.with_port(URL(url).port)

    def cut_after(self, count: int) -> None:
        """Reset every connection once so many more bytes have passed, both ways counted."""
        self._left = count

    def swallow(self) -> None:
        """Let nothing pass any more and say nothing about it: a node that lost its power."""
        self._flowing.clear()

    def flow(self) -> None:
        """Let bytes pass again."""
        self._flowing.set()

    async def idle(self) -> None:
        """Wait until no connection is open."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._writers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there, back = await asyncio.open_connection(self._url.host, self._url.port)
            self._writers |= {writer, back}
            try:
                await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
            finally:
                writer.transport.abort()
                back.transport.abort()
                self._writers -= {writer, back}
                async with self._changed:
                    self._changed.notify_all()
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._flowing.wait()
            writer.write(self._allowed(data))
            if self._left == 0:
                self._left = None
                self.cut()
                break
            await writer.drain()
        raise ConnectionResetError

    def _allowed(self, data: bytes) -> bytes:
        """What may still pass before the cut, which may tear a frame."""
        if self._left is None:
            return data
        allowed = data[: self._left]
        self._left -= len(allowed)
        return allowed
