"""Watch path: bytes of real watch lines -> snapshot -> diff -> rendered events."""

import gc

import orjson

from bench.ground import Ground
from bench.measure import Case, Sample, Stopwatch, Target
from bench.recorded import tcp_lines
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.policy import Policy
from publisher.observation import Changed, Resource, SyncEnded, SyncStarted
from publisher.render import render
from publisher.snapshot import TCP_DECODER

__all__ = ["cases"]

_TCPS = Resource.TENANTCONTROLPLANES


def _started() -> Fleet:
    fleet = Fleet(Policy())
    fleet.observe(SyncStarted(_TCPS), 0.0)
    fleet.observe(SyncEnded(_TCPS, "1"), 0.0)
    return fleet


def _judge(lines: list[bytes], *, rendered: bool) -> Sample:
    fleet = _started()
    gc.collect()
    with Stopwatch() as watch:
        for line in lines:
            for decision in fleet.observe(Changed(_TCPS, TCP_DECODER.line(line)), 0.0):
                if rendered:
                    render(decision, cluster="bench", term=1)
    return watch.sample(len(lines))


def _parse(lines: list[bytes]) -> Sample:
    gc.collect()
    with Stopwatch() as watch:
        for line in lines:
            orjson.loads(line)
    return watch.sample(len(lines))


def cases(ground: Ground) -> list[Case]:
    """The case, over all lines of the fleet's recording."""
    lines = tcp_lines() * ground.size(4, 1)

    async def ours() -> Sample:
        return _judge(lines, rendered=False)

    async def with_events() -> Sample:
        return _judge(lines, rendered=True)

    async def orjson_alone() -> Sample:
        return _parse(lines)

    return [
        Case(
            "watch path",
            "a watch line of a recording, from bytes through snapshot and diff, against orjson.loads of the bytes",
            ours,
            {"orjson": orjson_alone, "and events rendered": with_events},
            [Target("cost", "<=", 1.0, "orjson")],
        )
    ]
