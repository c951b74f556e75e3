"""Publish path: conclusion -> CloudEvent -> confirmed by a quorum queue and the history's stream."""

from bench.amqp import publish_by_aio_pika, publish_raw
from bench.events import decisions
from bench.ground import Ground
from bench.measure import Case, Sample, Stopwatch, Target
from publisher.render import render

__all__ = ["cases"]

_CLUSTER = "publish"
_RAW, _AIO_PIKA = "raw confirm loop", "aio-pika pipelined"


def cases(ground: Ground) -> list[Case]:
    """The case, with both baselines on the same bytes."""
    count = ground.size(6000, 300)
    keys = [f"*.*.*.{_CLUSTER}.#"]
    concluded = decisions(count)
    rendered = [render(decision, cluster=_CLUSTER, term=1) for decision in concluded]

    async def ours() -> Sample:
        broker = await ground.broker()
        async with ground.queue(keys), broker.publisher() as publisher:
            with Stopwatch() as watch:
                events = (render(decision, cluster=_CLUSTER, term=1) for decision in concluded)
                await publisher.publish_many(events, exchange=ground.layout.events)
        return watch.sample(count)

    async def raw() -> Sample:
        await ground.broker()
        async with ground.queue(keys):
            return await publish_raw(await ground.url(), ground.layout.events, rendered)

    async def aio_pika() -> Sample:
        await ground.broker()
        async with ground.queue(keys):
            return await publish_by_aio_pika(await ground.url(), ground.layout.events, rendered)

    what = "an event from its conclusion to the confirm, quorum queue and stream bound"
    targets = [
        Target("rate", ">=", 0.8, _RAW),
        Target("rate", ">=", 1.6, _AIO_PIKA),
        Target("cost", "<=", 60),
        Target("rate"),
    ]
    return [Case("publish path", what, ours, {_RAW: raw, _AIO_PIKA: aio_pika}, targets)]
