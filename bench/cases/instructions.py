"""Instructions: hot functions counted by valgrind, which no other process on the machine can disturb."""

import asyncio
import os
import re
import shutil
import sys

from bench.ground import Ground
from bench.measure import Case, Sample, SkippedError, Target

__all__ = ["cases"]

_FIRST, _COUNT = 60, 300

_COLLECTED = re.compile(rb"Collected : (\d+)")


def cases(ground: Ground) -> list[Case]:
    """A watch line through snapshot and diff; a conclusion through the CloudEvent to AMQP frames."""

    async def each(name: str) -> Sample:
        if ground.quick:
            await _run(sys.executable, "-m", "bench.children.hot", name, "50")
            raise SkippedError("takes a minute: not in a quick run")
        if shutil.which("valgrind") is None:
            raise SkippedError("there is no valgrind here; on Debian: apt-get install valgrind")
        # A few calls first in both, so that what is only done once counts in neither.
        some, more = await _counted(name, _FIRST), await _counted(name, _FIRST + _COUNT)
        return Sample(_COUNT, 1.0, 0.0, {"instructions": (more - some) / _COUNT})

    async def watch_line() -> Sample:
        return await each("watch line")

    async def to_frames() -> Sample:
        return await each("event to frames")

    told = [Target("instructions")]
    return [
        Case("instructions: watch line", "of one line: bytes, snapshot, diff", watch_line, {}, told, rounds=1),
        Case("instructions: event", "of one event: conclusion, CloudEvent, AMQP frames", to_frames, {}, told, rounds=1),
    ]


async def _counted(name: str, count: int) -> int:
    said = await _run(
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        sys.executable,
        *("-m", "bench.children.hot", name, str(count)),
    )
    found = _COLLECTED.search(said)
    assert found is not None, said[-2000:]
    return int(found[1])


async def _run(*words: str) -> bytes:
    """What a command says on its standard error."""
    process = await asyncio.create_subprocess_exec(
        *words, stderr=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": "0"}
    )
    _, said = await process.communicate()
    assert process.returncode == 0, said[-2000:]
    return said
