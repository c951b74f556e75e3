"""Start: the command's help, and the tail's first step, against a bare interpreter."""

import asyncio
import sys

from bench.measure import Case, Sample, Stopwatch, Target

__all__ = ["cases"]


async def _run(*arguments: str) -> Sample:
    with Stopwatch(children=True) as watch:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        await process.wait()
    return watch.sample(1, ms=watch.seconds * 1000)


def cases(*, quick: bool) -> list[Case]:  # noqa: ARG001 - a start is a start
    """``--help``, and ``tail`` up to a broker that refuses."""

    async def bare() -> Sample:
        return await _run("-c", "pass")

    async def showing_help() -> Sample:
        return await _over(bare, "-m", "kamaji_events", "--help")

    async def tail() -> Sample:
        return await _over(bare, "-m", "kamaji_events", "tail", "--help")

    return [
        Case("start: --help", "ms over a bare python -c pass", showing_help, {}, [Target("over_ms", "<=", 250)]),
        Case("start: tail", "ms over a bare python -c pass", tail, {}, [Target("over_ms", "<=", 250)]),
    ]


async def _over(bare: "object", *arguments: str) -> Sample:
    assert callable(bare)
    floor: Sample = await bare()
    sample = await _run(*arguments)
    over = sample.extra["ms"] - floor.extra["ms"]
    return Sample(1, sample.seconds, sample.cpu, {**sample.extra, "over_ms": over})
