"""Replicas that are cut off again and again at any byte: nothing lost, nothing said in two ways."""

import asyncio
from random import Random

import pytest

from kamaji_events.broker.connection import connect
from kamaji_events.errors import BrokerError
from kamaji_events.event import Event
from publisher.journal.journal import Journal
from publisher.journal.policy import JournalPolicy
from publisher.memory import Delta, Term
from tests.support.cut_proxy import Proxy
from tests.support.events import event_message
from tests.support.journal import Place, place

pytestmark = pytest.mark.broker

__all__ = ["place"]

POLICY = JournalPolicy(timeout=10, patience=10, settle=0, idle=0.01, most_messages=25)
BATCHES = 120


def batch(term: int, number: int) -> Delta:
    """What a term decides as that batch: an event's bytes tell who decided it."""
    return Delta(
        messages=tuple(event_message(f"{number}.{n}", sequence=f"{term:06d}-{number:014d}") for n in range(number % 4)),
        changed={f"object-{number % 7}": b"%d.%d" % (term, number), f"object-{(number + 3) % 7}": None},
    )


async def replica(place: Place, random: Random, done: asyncio.Event) -> None:
    """Lead, be cut off, come back: one process with one journal for all its leaderships."""
    journal = Journal(place.layout, "eu-1", policy=POLICY)
    while not done.is_set():
        async with Proxy.to(place.url) as proxy:
            proxy.cut_after(random.randrange(3_000, 60_000))
            try:
                async with connect(proxy.url, name="replica") as broker, journal.lead(broker) as term:
                    await work(term, done)
            except* BrokerError:
                pass  # cut off: once more


async def work(term: Term, done: asyncio.Event) -> None:
    """Batch after batch until all are there."""
    async with asyncio.TaskGroup() as group:
        keeper = group.create_task(term.keep())
        while term.next <= BATCHES:
            await term.commit(batch(term.recovered.term, term.next))
        done.set()
        keeper.cancel()


async def storm(place: Place, seed: int) -> None:
    """Three replicas until every batch is committed."""
    random, done = Random(seed), asyncio.Event()  # noqa: S311 - a storm to be repeated
    async with asyncio.TaskGroup() as group:
        replicas = [group.create_task(replica(place, random, done)) for _ in range(3)]
        await done.wait()
        for each in replicas:
            each.cancel()


async def told(place: Place) -> list[Event]:
    """Every event that reached the exchange, copies included."""
    queue = place.layout.client_queue("all")
    async with place.broker.publisher() as publisher, place.broker.consume(queue, 1000) as consumer:
        await publisher.publish(event_message("end"), exchange=place.layout.events)
        events: list[Event] = []
        while not events or events[-1].id != "end":
            message = await anext(consumer)
            events.append(Event.from_bytes(message.body))
            await message.ack()
    return events[:-1]


async def check(place: Place) -> None:
    """The oracle."""
    events = await told(place)
    first = {event.id: event for event in reversed(events)}
    expected = [f"{number}.{n}" for number in range(1, BATCHES + 1) for n in range(number % 4)]
    assert list(dict.fromkeys(event.id for event in events)) == expected
    assert all(event.raw == first[event.id].raw for event in events)
    terms = [str(first[event_id].sequence)[:6] for event_id in expected]
    assert terms == sorted(terms)


async def remembered(place: Place) -> None:
    """The last leader's memory is what the batches made, whoever decided them."""
    async with Journal(place.layout, "eu-1", policy=POLICY).lead(place.broker) as term:
        objects: dict[str, int] = {}
        for number in range(1, BATCHES + 1):
            for key, memory in batch(0, number).changed.items():
                objects.pop(key, None)
                if memory is not None:
                    objects[key] = number
        assert {key: int(memory.split(b".")[1]) for key, memory in term.recovered.objects.items()} == objects
        assert term.next == BATCHES + 1


SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(5, 50))]


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_storm(place: Place, seed: int) -> None:
    """Zero lost, copies are the same bytes, numbers gapless, terms never interleave, the memory is right."""
    await storm(place, seed)
    await check(place)
    await remembered(place)
