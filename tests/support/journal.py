"""A place on the broker for journals, leaderships in it, and ways to end them."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.topology import Layout
from kamaji_events.errors import BrokerError
from publisher.journal.codec import Kind, Record, encode
from publisher.journal.journal import Journal
from publisher.journal.policy import JournalPolicy
from publisher.journal.term import JournalTerm
from publisher.memory import Delta
from tests.support.cut_proxy import Proxy
from tests.support.events import event_message

__all__ = ["CLUSTER", "POLICY", "Place", "arrival", "batch", "killed", "leading", "only_remember", "place"]

POLICY = JournalPolicy(timeout=5, patience=0, settle=0, grace=0)
CLUSTER = "eu-1"


@dataclass
class Place:
    """An installation on the shared broker, and a subscriber that sees everything."""

    url: str
    layout: Layout
    broker: Broker

    def journal(self, policy: JournalPolicy = POLICY) -> Journal:
        """A publisher's memory."""
        return Journal(self.layout, CLUSTER, policy=policy)

    async def told(self) -> list[str]:
        """The ids published since it was asked last, in order, copies included."""
        queue = self.layout.client_queue("all")
        async with self.broker.publisher() as publisher, self.broker.consume(queue, 1000) as consumer:
            await publisher.publish(event_message("end"), exchange=self.layout.events)
            ids: list[str] = []
            while (ids or [""])[-1] != "end":
                message = await anext(consumer)
                ids.append(message.properties.message_id or "")
                await message.ack()
            return ids[:-1]


@pytest.fixture
async def place(rabbit: str, layout: Layout) -> AsyncIterator[Place]:
    """Exchange, history, and a queue that gets every event."""
    topology = layout.exchange_topology() + layout.client_topology("all", ("#",)) + layout.journal_topology(CLUSTER)
    async with connect(rabbit, name="test") as broker:
        await declare.apply(broker, topology)
        yield Place(rabbit, layout, broker)
        await declare.delete(broker, topology)


def batch(number: int, *, objects: Iterable[str] = ("a",), events: int = 1) -> Delta:
    """A batch that sets each object to its number and says so."""
    return Delta(
        messages=tuple(event_message(f"{number}.{event}") for event in range(events)),
        changed=dict.fromkeys(objects, b"%d" % number),
        versions={"tcp": str(number)},
        facts={"epoch": "1"},
    )


@asynccontextmanager
async def leading(place: Place, journal: Journal | None = None, url: str | None = None) -> AsyncIterator[JournalTerm]:
    """A leadership on a connection of its own, with its token kept."""
    journal = journal or place.journal()
    async with connect(url or place.url, name="leader", heartbeat=5) as broker, journal.lead(broker) as term:
        assert isinstance(term, JournalTerm)
        keeper = asyncio.ensure_future(term.keep())
        try:
            yield term
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)


@asynccontextmanager
async def killed(place: Place, journal: Journal | None = None) -> AsyncIterator[JournalTerm]:
    """A leadership that ends like a killed process: its connection is reset, nothing is said any more."""
    async with Proxy.to(place.url) as proxy, leading(place, journal, proxy.url) as term:
        yield term
        proxy.cut()
        with pytest.raises(BrokerError):
            await term.keep()


def arrival(term: JournalTerm, kind: Kind) -> asyncio.Event:
    """Set when a record of that kind has come back from the broker."""
    taker, arrived = term._take, asyncio.Event()

    def spy(record: Record, tag: int, reply_to: str) -> None:
        taker(record, tag, reply_to)
        if record.kind is kind:
            arrived.set()

    term._token.taker = spy
    return arrived


async def only_remember(term: JournalTerm, delta: Delta) -> None:
    """The first half of a commit: what a crash right behind it leaves."""
    bodies = [encode(record) for record in term._cut(Kind.DELTA, term.next, delta)]
    await term._token.append(*bodies)
