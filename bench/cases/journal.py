"""Journal: what remembering costs, with many control planes in memory."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

from bench.events import decisions
from bench.ground import HEARTBEAT, Ground
from bench.measure import Case, Sample, Stopwatch, Target
from bench.upgrades import upgrades
from kamaji_events.broker.connection import connect
from kamaji_events.simulator import multiply
from publisher.derive import Derivation
from publisher.journal.codec import Kind, Record, encode, parts
from publisher.journal.journal import Journal
from publisher.lifecycle.policy import Policy
from publisher.memory import Delta, Term
from publisher.process_memory import ProcessMemory
from publisher.remembered import encode as remembered
from publisher.remembered import fleet_from
from publisher.render import render

__all__ = ["cases"]

_WITHOUT = "without a journal"
_BATCH = 500


def _memories(count: int) -> dict[str, bytes]:
    """What a publisher remembers of so many control planes at the beginning of their upgrade."""
    derivation = Derivation(Policy())
    for number, line in enumerate(multiply([upgrades()], count)):
        derivation.take(line)
        if number > count:
            break
    changed = derivation.fleet.changed()
    return {key: remembered(memory) for key, memory in changed.items() if memory is not None}


def _deltas(memories: dict[str, bytes], events: int) -> Iterator[Delta]:
    """Batches of a storm: their events, and what is remembered of as many control planes."""
    concluded, keys = decisions(events), list(memories)
    for start in range(0, events, _BATCH):
        messages = tuple(render(one, cluster="journal", term=1) for one in concluded[start : start + _BATCH])
        some = [keys[(start + offset) % len(keys)] for offset in range(len(messages))]
        yield Delta(messages, {key: memories[key] for key in some}, {"tenantcontrolplanes": str(start)})


def _bytes(kind: Kind, delta: Delta) -> int:
    cut = list(parts(delta))
    records = (Record(kind, 1, 1, part, part == len(cut) - 1, payload=payload) for part, payload in enumerate(cut))
    return sum(len(encode(record, deflate=True)) for record in records)


def cases(ground: Ground) -> list[Case]:
    """A storm with and without it; sizes, the time of a delta, and of taking over, beside."""
    count, events = ground.size(10_000, 200), ground.size(6000, 300)
    memories = _memories(count)
    deltas = list(_deltas(memories, events))
    journalled = sum(_bytes(Kind.DELTA, delta) for delta in deltas) / events

    async def with_it() -> Sample:
        await ground.broker()
        async with ground.queue(["*.*.*.journal.#"]), _led(ground, ground.fresh("j")) as term:
            await term.commit(Delta(changed=memories))
            sample = await _storm(term, deltas, events)
        return Sample(sample.units, sample.seconds, sample.cpu, {"bytes_an_event": journalled})

    async def without() -> Sample:
        broker = await ground.broker()
        async with ground.queue(["*.*.*.journal.#"]), ProcessMemory(ground.layout).lead(broker) as term:
            return await _storm(term, deltas, events)

    async def at_size() -> Sample:
        return await _at_size(ground, memories)

    return [
        Case(
            "journal",
            f"a storm of {events} events in batches of {_BATCH}, {count} control planes remembered",
            with_it,
            {_WITHOUT: without},
            [Target("rate", ">=", 0.75, _WITHOUT), Target("rate"), Target("cost"), Target("bytes_an_event")],
        ),
        Case(
            "journal: size and takeover",
            f"{count} control planes: MB of a base, ms of a delta of one change, ms from the leader's end to the next "
            "one's first possible batch (token, reading, decoding)",
            at_size,
            {},
            [Target("base_mb"), Target("delta_ms"), Target("takeover_ms")],
            rounds=3,
        ),
    ]


async def _storm(term: Term, deltas: list[Delta], events: int) -> Sample:
    with Stopwatch() as watch:
        for delta in deltas:
            await term.commit(delta)
    return watch.sample(events)


@asynccontextmanager
async def _led(ground: Ground, cluster: str) -> AsyncIterator[Term]:
    async with (
        connect(await ground.url(), name="bench journal", heartbeat=HEARTBEAT) as broker,
        Journal(ground.layout, cluster).lead(broker) as term,
    ):
        yield term


async def _at_size(ground: Ground, memories: dict[str, bytes]) -> Sample:
    await ground.broker()
    cluster, (key, memory) = ground.fresh("j"), next(iter(memories.items()))
    tries = ground.size(20, 3)
    async with AsyncExitStack() as leader:
        term = await leader.enter_async_context(_led(ground, cluster))
        await term.commit(Delta(changed=memories))
        began = time.perf_counter()
        for _ in range(tries):
            await term.commit(Delta(changed={key: memory}))
        delta = (time.perf_counter() - began) / tries
    began = time.perf_counter()
    async with _led(ground, cluster) as term:
        fleet_from(term.recovered, Policy())
        seconds = time.perf_counter() - began
    extra = {
        "base_mb": _bytes(Kind.BASE, Delta(changed=memories)) / 1e6,
        "delta_ms": delta * 1000,
        "takeover_ms": seconds * 1000,
    }
    return Sample(1, seconds, 0.0, extra)
