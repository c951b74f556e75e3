"""Webhook delivery: CPU of one signed delivery in the worker, consuming and acknowledging included."""

from functools import partial

from bench.delivering import Delivering, delivering
from bench.events import messages
from bench.ground import Ground
from bench.http import post_by_aiohttp, post_by_httpx
from bench.measure import Case, Sample, Target

__all__ = ["cases"]

_CONCURRENCIES = {"c5": 5, "c50": 50, "c200": 200}
_HTTPX, _AIOHTTP = "bare httpx at 50", "bare aiohttp at 50"


def cases(ground: Ground) -> list[Case]:
    """At 50 connections against bare loops; at 200 against 5; and the whole process, end to end."""
    count = ground.size(3000, 60)
    names = {word: ground.fresh(word) for word in _CONCURRENCIES}

    async def opened() -> Delivering:
        return await ground.keep("delivering", delivering(ground, names, concurrency=_CONCURRENCIES))

    async def drained(word: str) -> Sample:
        return await (await opened()).drain(word, count)

    async def by_httpx() -> Sample:
        return await post_by_httpx(await _url(ground), _bodies(ground.size(300, 20)), 50)

    async def by_aiohttp() -> Sample:
        return await post_by_aiohttp(await _url(ground), _bodies(count), 50)

    loops = {_HTTPX: by_httpx, _AIOHTTP: by_aiohttp}
    fifty = partial(drained, "c50")
    return [
        Case(
            "webhook delivery",
            "CPU of a delivery in the worker at 50 connections: consume, sign, post, acknowledge",
            fifty,
            loops,
            [Target("cost", "<=", 0.33, _HTTPX), Target("cost", "<=", 3.0, _AIOHTTP), Target("cost")],
        ),
        Case(
            "webhook connections",
            "CPU of a delivery at 200 connections, against 5",
            partial(drained, "c200"),
            {"5 connections": partial(drained, "c5")},
            [Target("cost", "<=", 1.2, "5 connections"), Target("cost")],
        ),
        Case(
            "end to end",
            "events on the exchange -> one worker process -> signed webhook of 1.2 KB on loopback, 50 at once",
            fifty,
            {_AIOHTTP: by_aiohttp},
            [Target("rate", ">=", 1800), Target("cost", "<=", 450), Target("rate", "", 0, _AIOHTTP)],
        ),
    ]


async def _url(ground: Ground) -> str:
    receiver, url = await ground.receiver()
    await receiver.ask("clear")
    return f"{url}/ok/bare"


def _bodies(count: int) -> list[bytes]:
    return [message.body for message in messages("bare", count)]
