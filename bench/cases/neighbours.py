"""Neighbours: a healthy receiver's latency beside one that hangs, one that is down and one that is slow."""

import asyncio
import statistics
import time
from contextlib import AbstractAsyncContextManager
from typing import Any

from bench.delivering import Delivering, served, webhook
from bench.events import messages
from bench.ground import Ground
from bench.measure import Case, Sample, Target

__all__ = ["cases"]

_ALONE = "alone"
_OTHERS = "others"
_RATE = 100
_TICK = 0.02
_NEVER_PAUSED: dict[str, Any] = {"circuit": {"failures": 0}}
"""The circuit breaker would end the trouble soon: it stays off here."""


def cases(ground: Ground) -> list[Case]:
    """p99 of the healthy one, with the same open loop of events for it."""
    seconds = ground.size(6, 1)

    async def opened() -> Delivering:
        return await ground.keep("neighbours", _neighbours(ground))

    async def beside() -> Sample:
        return await _healthy(await opened(), seconds, others=True)

    async def alone() -> Sample:
        return await _healthy(await opened(), seconds, others=False)

    what = (
        f"p99 of write -> receiver at {_RATE} events/s for the healthy subscription of a worker, while as many go to "
        "each of three others: one hangs, one refuses connections, one takes 2 s; no circuit breaker"
    )
    targets = [Target("p99_ms", "<=", 1.5, _ALONE), Target("p99_ms"), Target("p50_ms")]
    return [Case("neighbours", what, beside, {_ALONE: alone}, targets)]


def _neighbours(ground: Ground) -> AbstractAsyncContextManager[Delivering]:
    healthy = ground.fresh("healthy")

    def subscriptions(url: str) -> list[dict[str, Any]]:
        bad = {"hanging": f"{url}/hang/x", "down": "http://127.0.0.1:9/x", "slow": f"{url}/slow/2000/x"}
        return [
            webhook(healthy, healthy, f"{url}/ok/{healthy}", concurrency=10),
            *(
                webhook(ground.fresh(word), _OTHERS, where, concurrency=10, **_NEVER_PAUSED)
                for word, where in bad.items()
            ),
        ]

    return served(ground, {"healthy": healthy}, subscriptions)


async def _healthy(made: Delivering, seconds: float, *, others: bool) -> Sample:
    healthy, bad = made.names["healthy"], _OTHERS
    await made.receiver.ask("clear")
    each, count = round(_RATE * _TICK), round(_RATE * seconds)
    burnt, began = made.worker.cpu(), time.perf_counter()
    for tick in range(count // each):
        await asyncio.sleep(max(0.0, began + tick * _TICK - time.perf_counter()))
        if others:
            await made.publish(list(messages(bad, each)))
        await made.publish(list(messages(healthy, each)))
    await made.receiver.ask("wait", path=f"/ok/{healthy}", count=count)
    arrived = await made.receiver.ask("arrivals", path=f"/ok/{healthy}")
    cuts = statistics.quantiles([at - sent for at, _, _, sent in arrived], n=100, method="inclusive")
    extra = {"p50_ms": cuts[49] * 1000, "p99_ms": cuts[98] * 1000}
    return Sample(count, time.perf_counter() - began, made.worker.cpu() - burnt, extra)
