"""Storm: many control planes upgraded at once, from the API server's writes to a webhook receiver."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.child import Child
from bench.delivering import delivering
from bench.fleet import Fleet, watched
from bench.ground import Ground
from bench.measure import Case, Sample, Target
from bench.tap import tapped
from bench.upgrades import EVENTS
from kamaji_events.broker import declare

__all__ = ["cases"]

_ALONE = "the slowest stage alone"
_OPEN_SECONDS = 12.0


def cases(ground: Ground) -> list[Case]:
    """Everything at once against the slowest stage; then at half of the rate that was sustained, in an open loop."""
    count = ground.size(1000, 30)
    sustained: list[float] = []

    async def all_together() -> Sample:
        async with _chain(ground, count) as (fleet, worker, receiver):
            before = fleet.publisher.cpu(), worker.cpu()
            began = await fleet.api.ask("go", speed=None)
            done = await receiver.ask("wait", path=f"/ok/{fleet.cluster}", count=count * EVENTS)
            burnt = fleet.publisher.cpu() - before[0], worker.cpu() - before[1]
        seconds = done["last"] - began
        sustained.append(count * EVENTS / seconds)
        each = 1e6 / (count * EVENTS)
        extra = {"publisher_cost": burnt[0] * each, "worker_cost": burnt[1] * each}
        return Sample(count * EVENTS, seconds, sum(burnt), extra)

    async def slowest_alone() -> Sample:
        publisher, worker = await _publisher_alone(ground, count), await _worker_alone(ground, count * EVENTS)
        slowest = max(publisher, worker, key=lambda sample: sample.seconds)
        extra = {"publisher_s": publisher.seconds, "worker_s": worker.seconds}
        return Sample(slowest.units, slowest.seconds, slowest.cpu, extra)

    async def open_loop() -> Sample:
        rate = statistics.median(sustained) / 2
        return await _open_loop(ground, rate, ground.size(12, 2))

    storm = [
        Target("seconds", "<=", 1.3, _ALONE),
        Target("rate"),
        Target("publisher_cost"),
        Target("worker_cost"),
    ]
    split = [Target(f"{part}_{share}_ms") for part in ("all", "publisher", "worker") for share in ("p50", "p99")]
    what = f"{count} upgrades written at once, until the last of {count * EVENTS} events is with the receiver"
    return [
        Case("storm", what, all_together, {_ALONE: slowest_alone}, storm, rounds=3),
        Case(
            "storm, half rate",
            "open loop at half of the sustained rate: ms from the API server's write to the receiver, and its split "
            "into write -> exchange (publisher) and exchange -> receiver (worker)",
            open_loop,
            {},
            [*split, Target("rate")],
            rounds=3,
        ),
    ]


@asynccontextmanager
async def _chain(ground: Ground, count: int, *, spread: float = 0.0) -> AsyncIterator[tuple[Fleet, Child, Child]]:
    """Simulator, publisher, worker and receiver, all ready."""
    async with (
        watched(ground, count, spread=spread) as fleet,
        delivering(ground, {"storm": fleet.cluster}, events=("upgrade.*",)) as made,
    ):
        await made.receiver.ask("clear")
        yield fleet, made.worker, made.receiver


async def _publisher_alone(ground: Ground, count: int) -> Sample:
    broker = await ground.broker()
    async with watched(ground, count) as fleet, ground.queue([f"*.upgrade.*.{fleet.cluster}.#"]) as queue:
        began, burnt = time.perf_counter(), fleet.publisher.cpu()
        await fleet.api.ask("go", speed=None)
        while await declare.message_count(broker, queue) < count * EVENTS:  # noqa: ASYNC110 - AMQP tells no end
            await asyncio.sleep(0.02)
        return Sample(count * EVENTS, time.perf_counter() - began, fleet.publisher.cpu() - burnt)


async def _worker_alone(ground: Ground, events: int) -> Sample:
    made = await ground.keep("worker alone", delivering(ground, {"alone": ground.fresh("alone")}))
    return await made.drain("alone", events)


async def _open_loop(ground: Ground, rate: float, seconds: float) -> Sample:
    count = max(10, round(rate * seconds / EVENTS))
    async with (
        _chain(ground, count, spread=seconds) as (fleet, worker, receiver),
        tapped(ground, [f"*.upgrade.*.{fleet.cluster}.#"]) as tap,
    ):
        burnt = fleet.publisher.cpu() + worker.cpu()
        await fleet.api.ask("go", speed=1.0)
        await receiver.ask("wait", path=f"/ok/{fleet.cluster}", count=count * EVENTS)
        burnt = fleet.publisher.cpu() + worker.cpu() - burnt
        arrived = await receiver.ask("arrivals", path=f"/ok/{fleet.cluster}")
        written = await fleet.api.ask("written")
        await tap.until(lambda _: True, count=count * EVENTS)
        passed = {one.id: one.at for one in tap.arrived}
    rows = [(written[version], passed[name], at) for at, name, version, _ in arrived if version in written]
    spans = {
        "all": [last - first for first, _, last in rows],
        "publisher": [middle - first for first, middle, _ in rows],
        "worker": [last - middle for _, middle, last in rows],
    }
    extra = {f"{part}_{share}_ms": value for part, span in spans.items() for share, value in _percentiles(span)}
    return Sample(len(rows), seconds, burnt, extra)


def _percentiles(span: Sequence[float]) -> list[tuple[str, float]]:
    cuts = statistics.quantiles(span, n=100, method="inclusive")
    return [("p50", cuts[49] * 1000), ("p99", cuts[98] * 1000)]
