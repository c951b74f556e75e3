"""An HTTP proxy that forwards and remembers what was asked of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["Proxy", "proxy"]


@dataclass
class Proxy:
    """A running proxy."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxy() -> AsyncIterator[Proxy]:
    """CONNECT and absolute-form requests, one for each connection."""
    made = Proxy()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split("\r\n")[0].split(" ")
        made.asked.append(f"{method} {target}")
        for line in head.split("\r\n"):
            if line.lower().startswith("proxy-authorization:"):
                made.authorizations.append(line.partition(":")[2].strip())
        where = target if method == "CONNECT" else target.split("/")[2]
        host, _, port = where.rpartition(":")
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            up_writer.write(head.encode("latin-1"))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pipe(reader, up_writer))
                group.create_task(_pipe(up_reader, writer))
        except asyncio.CancelledError:
            pass
        finally:
            up_writer.transport.abort()
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
