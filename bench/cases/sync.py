"""Sync: the first list of many control planes, streamed by a server that rendered it before."""

import orjson

from bench.child import Child
from bench.ground import Ground
from bench.measure import Case, Sample, Target

__all__ = ["cases"]

_PARSED = "reading and orjson.loads"


def cases(ground: Ground) -> list[Case]:
    """Read, cut down and judged, against read and parsed, each in a fresh process."""
    count = ground.size(10_000, 200)

    async def read(way: str) -> Sample:
        server = await ground.keep(
            "server", Child("bench.children.prerendered", str(count), log=ground.folder / "server.log")
        )
        url = (await server.ask("url"))["url"]
        words = ("bench.children.syncing", way, url, str(ground.folder / f"{ground.fresh('sync')}.yaml"))
        async with Child(*words, log=ground.folder / "syncing.log") as child:
            told = orjson.loads(await child.line())
        assert told["count"] == count, told
        return Sample(count, told["seconds"], told["cpu"], {"peak_mb": told["peak_mb"]})

    async def ours() -> Sample:
        return await read("ours")

    async def parsed() -> Sample:
        return await read("orjson")

    targets = [
        Target("seconds", "<=", 1.3, _PARSED),
        Target("cpu", "<=", 1.3, _PARSED),
        Target("peak_mb", "<=", 200),
        Target("seconds"),
    ]
    what = f"first list of {count} control planes as the publisher reads and keeps it, in a process of its own"
    return [Case("sync", what, ours, {_PARSED: parsed}, targets)]
