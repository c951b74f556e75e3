"""Start: the command's help, and the first line of ``tail``, against a bare interpreter."""

import asyncio
import sys
from functools import partial

from bench.events import messages
from bench.ground import PREFIX, Ground
from bench.measure import Case, Sample, Stopwatch, Target

__all__ = ["cases"]

_CLUSTER = "start"


async def _first_byte(*arguments: str) -> Sample:
    """A command up to the first byte that it says, or its end."""
    with Stopwatch() as watch:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        assert process.stdout is not None
        await process.stdout.read(1)
    await process.communicate()
    return watch.sample(1, ms=watch.seconds * 1000)


async def _over(*arguments: str) -> Sample:
    floor, sample = await _first_byte("-c", "pass"), await _first_byte("-m", "kamaji_events", *arguments)
    extra = {"ms": sample.extra["ms"], "over_ms": sample.extra["ms"] - floor.extra["ms"]}
    return Sample(1, sample.seconds, sample.cpu, extra)


def cases(ground: Ground) -> list[Case]:
    """``--help``, and ``tail`` up to the first event of the history."""

    async def tail() -> Sample:
        broker = await ground.broker()
        async with broker.publisher() as publisher:
            await publisher.publish_many(messages(_CLUSTER, 1), exchange=ground.layout.events)
        where = ("--url", await ground.url(), "--prefix", PREFIX, "--cluster", _CLUSTER)
        return await _over("tail", *where, "--since", "1h", "--count", "1", "--json")

    targets = [Target("over_ms", "<=", 250), Target("ms")]
    return [
        Case("start: --help", "ms over a bare python -c pass", partial(_over, "--help"), {}, targets),
        Case("start: tail", "ms to the first event of the history, over a bare python", tail, {}, targets),
    ]
