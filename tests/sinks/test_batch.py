"""Batched mode: deliveries that come together go out together."""

import asyncio
from collections.abc import Callable, Sequence

import orjson
import pytest

from consumers.sinks.base import Delivered, Failed, Sink
from consumers.sinks.gather import Batcher, BatchSettings
from tests.support.receiver import Request, receiver, response
from tests.support.samples import sample_delivery

Make = Callable[..., Sink]


async def test_a_batch_holds_the_events_own_bytes(make: Make) -> None:
    """Those that come at once are one JSON array of their bytes, of the batch media type."""
    deliveries = [sample_delivery(counter=number) for number in range(5)]
    async with receiver() as there:
        sink = make("webhook", {"url": there.url, "mode": "batched", "batch": {"wait": 5, "most": 5}})
        outcomes = await asyncio.gather(*(sink.deliver(delivery) for delivery in deliveries))
    assert outcomes == [Delivered("204")] * 5
    (request,) = there.requests
    assert request.headers["content-type"].startswith("application/cloudevents-batch+json")
    assert request.body == b"[" + b",".join(delivery.event.raw for delivery in deliveries) + b"]"
    assert request.headers["webhook-id"].startswith("batch:")


async def test_one_bad_event_does_not_spoil_the_batch(make: Make) -> None:
    """A refused body is halved until the event in fault is alone; the others are delivered."""
    deliveries = [sample_delivery("state.ready", counter=number) for number in range(6)]
    bad = deliveries[3].event.id

    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool:
        ids = [event["id"] for event in orjson.loads(request.body)]
        return await response(422 if bad in ids else 204)(request, writer)

    async with receiver(answer) as there:
        sink = make("webhook", {"url": there.url, "mode": "batched", "batch": {"wait": 5, "most": 6}})
        outcomes = await asyncio.gather(*(sink.deliver(delivery) for delivery in deliveries))
    assert [type(outcome) for outcome in outcomes] == [Delivered] * 3 + [Failed] + [Delivered] * 2


async def test_a_down_receiver_fails_the_whole_batch_once(make: Make) -> None:
    """What is not about the body is not halved."""
    async with receiver(response(500)) as there:
        sink = make("webhook", {"url": there.url, "mode": "batched", "batch": {"wait": 5, "most": 3}})
        outcomes = await asyncio.gather(*(sink.deliver(sample_delivery()) for _ in range(3)))
    assert all(isinstance(outcome, Failed) for outcome in outcomes)
    assert len(there.requests) == 1


async def test_the_one_that_leads_can_be_cancelled() -> None:
    """Another takes the lead, with every event."""
    sent: list[Sequence[int]] = []
    begun = asyncio.Event()

    async def send(items: Sequence[int]) -> Sequence[int]:
        sent.append(tuple(items))
        begun.set()
        if len(sent) == 1:
            await asyncio.Event().wait()
        return [item * 10 for item in items]

    batcher: Batcher[int, int] = Batcher(BatchSettings(most=3, wait=5), send)
    tasks = [asyncio.create_task(batcher.add(number, 1)) for number in (1, 2, 3)]
    await begun.wait()
    tasks[0].cancel()
    assert await asyncio.gather(*tasks[1:]) == [20, 30]
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert sent == [(1, 2, 3), (1, 2, 3)]


async def test_a_batch_is_closed_by_time_number_and_bytes() -> None:
    """Whichever bound comes first."""
    sent: list[int] = []

    async def send(items: Sequence[int]) -> Sequence[int]:
        sent.append(len(items))
        return items

    batcher: Batcher[int, int] = Batcher(BatchSettings(most=2, most_bytes=1024, wait=0.01), send)
    assert await asyncio.gather(*(batcher.add(number, 1) for number in range(5))) == list(range(5))
    assert sorted(sent) == [1, 2, 2]
    sent.clear()
    assert await asyncio.gather(*(batcher.add(number, 900) for number in range(2))) == [0, 1]
    assert sent == [1, 1]
