"""Idle: a publisher over many control planes that do nothing."""

import asyncio

from bench.child import Child
from bench.fleet import watched
from bench.ground import Ground
from bench.measure import Case, Sample, Target

__all__ = ["cases"]

_AN_HOUR = 3600.0
_WATCH_SECONDS = 0.9 * 300.0
"""Mean length of a watch, which then is asked for again."""
_COMPARE_HOURS = 6.0
_KINDS = 2


def cases(ground: Ground) -> list[Case]:
    """CPU, memory and requests of a quiet while, and what that makes in an hour."""
    count, seconds = ground.size(10_000, 200), ground.size(60, 2)

    async def quiet() -> Sample:
        async with watched(ground, count) as fleet:
            await asyncio.sleep(ground.size(5, 1))  # what the first list left to do
            burnt, asked = fleet.publisher.cpu(), await _asked(fleet.api)
            await asyncio.sleep(seconds)
            burnt = fleet.publisher.cpu() - burnt
            extra = {
                "cpu_percent": 100 * burnt / seconds,
                "requests": await _asked(fleet.api) - asked,
                "requests_an_hour": _KINDS * (_AN_HOUR / _WATCH_SECONDS + 1 / _COMPARE_HOURS),
                "peak_mb": fleet.publisher.peak_mb(),
            }
        return Sample(1, seconds, burnt, extra)

    what = (
        f"{count} quiet control planes for {seconds} s; requests_an_hour is reckoned from the watches' length (270 s "
        "on average, two kinds) and the compare each 6 h, peak_mb is of the whole publisher with its journal"
    )
    figures = [
        Target("cpu_percent", "<=", 1.0),
        Target("peak_mb", "<=", 200),
        Target("requests"),
        Target("requests_an_hour"),
    ]
    return [Case("idle", what, quiet, {}, figures, rounds=3)]


async def _asked(api: Child) -> int:
    return sum((await api.ask("state"))["asked"].values())
