"""A helper's end of the conversation: one JSON line in, one out."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

__all__ = ["answering"]

_LONGEST = 64 * 1024 * 1024


async def answering(answer: Callable[[dict[str, Any]], Awaitable[Any]]) -> None:
    """Answer every line until the standard input ends; commands are handled one after the other."""
    reader = asyncio.StreamReader(limit=_LONGEST)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    while line := await reader.readline():
        told = await answer(orjson.loads(line))
        sys.stdout.buffer.write(orjson.dumps(told) + b"\n")
        sys.stdout.buffer.flush()
