"""A webhook receiver that costs little: HTTP/1.1 read by hand, every arrival noted with its time.

The path says how it behaves: ``/ok/...`` answers 204 at once, ``/slow/<ms>/...`` later, ``/hang/...`` never,
``/fail/...`` with 503.
"""

import asyncio
import re
import time
from collections import defaultdict
from typing import Any

import orjson

from bench.children.answering import answering

__all__ = ["Desk"]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_OK = b"HTTP/1.1 204 No Content\r\n\r\n"
_FAIL = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"


class Desk:
    """What arrived at each path, as (seconds since 1970, body)."""

    def __init__(self) -> None:
        self.arrived: defaultdict[str, list[tuple[float, bytes]]] = defaultdict(list)
        self._news = asyncio.Event()

    def note(self, path: str, body: bytes) -> None:
        """A request came."""
        self.arrived[path].append((time.time(), body))
        self._news.set()

    async def answer(self, asked: dict[str, Any]) -> Any:
        """``wait`` for a count at a path, give its ``arrivals``, ``clear`` everything."""
        path = asked.get("path", "")
        match asked["do"]:
            case "wait":
                await self._wait(path, asked["count"])
                times = [at for at, _ in self.arrived[path]]
                return {"count": len(times), "first": times[0], "last": max(times[: asked["count"]])}
            case "arrivals":
                return [[at, *_facts(body)] for at, body in self.arrived[path]]
            case _:
                self.arrived.clear()
                return {}

    async def _wait(self, path: str, count: int) -> None:
        while len(self.arrived[path]) < count:
            self._news.clear()
            await self._news.wait()


def _facts(body: bytes) -> tuple[str, str | None, float | None]:
    """Id, the resourceVersion that it is concluded from, and when the bench sent it."""
    event = orjson.loads(body)
    data = event.get("data", {})
    return event["id"], data.get("object", {}).get("resourceVersion"), data.get("sent")


class _Connection(asyncio.Protocol):
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[: end + 2]
            found = _LENGTH.search(head)
            whole = end + 4 + (int(found[1]) if found else 0)
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            self._request(head.split(b" ", 2)[1].decode(), body)

    def _request(self, path: str, body: bytes) -> None:
        self._desk.note(path, body)
        match path.split("/")[1:]:
            case ["ok", *_]:
                self._write(_OK)
            case ["slow", ms, *_]:
                asyncio.get_running_loop().call_later(int(ms) / 1000, self._write, _OK)
            case ["fail", *_]:
                self._write(_FAIL)
            case _:
                pass

    def _write(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


async def _main() -> None:
    desk = Desk()
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(desk), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def answer(asked: dict[str, Any]) -> Any:
        return {"url": f"http://127.0.0.1:{port}"} if asked["do"] == "url" else await desk.answer(asked)

    async with server:
        await answering(answer)


if __name__ == "__main__":
    asyncio.run(_main())
