"""Baselines of delivering: bare loops of httpx and aiohttp, one POST after the other on each connection."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import aiohttp
import httpx

from bench.measure import Sample, Stopwatch

__all__ = ["post_by_aiohttp", "post_by_httpx"]

_HEADERS = {"content-type": "application/cloudevents+json"}


async def _posted(bodies: Sequence[bytes], connections: int, post: Callable[[bytes], Awaitable[None]]) -> Sample:
    left = iter(bodies)

    async def loop() -> None:
        for body in left:
            await post(body)

    with Stopwatch() as watch:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(connections):
                tasks.create_task(loop())
    return watch.sample(len(bodies))


async def post_by_httpx(url: str, bodies: Sequence[bytes], connections: int) -> Sample:
    """One ``httpx.AsyncClient``, as its users write it."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:

        async def post(body: bytes) -> None:
            (await client.post(url, content=body, headers=_HEADERS)).raise_for_status()

        return await _posted(bodies, connections, post)


async def post_by_aiohttp(url: str, bodies: Sequence[bytes], connections: int) -> Sample:
    """One ``aiohttp.ClientSession``."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as client:

        async def post(body: bytes) -> None:
            async with client.post(url, data=body, headers=_HEADERS) as reply:
                reply.raise_for_status()
                await reply.read()

        return await _posted(bodies, connections, post)
