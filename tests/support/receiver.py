"""A webhook receiver of raw bytes: it can answer anything, slowly, half or not at all."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["Answer", "Receiver", "Request", "receiver", "response"]


@dataclass(frozen=True)
class Request:
    """What was sent, as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[bool]]
"""Writes an answer; False closes the connection."""


def response(status: int = 204, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
    """An ordinary answer."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        lines = [f"HTTP/1.1 {status} Status"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if status not in (204, 304):
            lines.append(f"content-length: {len(body)}")
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()
        return True

    return answer


@dataclass
class Receiver:
    """A running receiver."""

    answer: Answer = field(default_factory=response)
    host: str = "127.0.0.1"
    port: int = 0
    scheme: str = "http"
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it is posted to."""
        return f"{self.scheme}://{self.host}:{self.port}/hook"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        number = self.connections
        try:
            while (request := await _read(reader, number)) is not None:
                self.requests.append(request)
                self.arrived.set()
                if not await self.answer(request, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader, number: int) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body, number)


@asynccontextmanager
async def receiver(
    answer: Answer | None = None, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[Receiver]:
    """A receiver on a free port, gone with all its connections at the end."""
    made = Receiver(answer or response(), host=host, scheme="https" if tls else "http")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await made.serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(serve, host, port, ssl=tls, limit=2**24)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
