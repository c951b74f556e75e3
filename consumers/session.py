"""One session with RabbitMQ: from connecting until the connection is lost or the service stops."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from consumers.board import Board
from consumers.life import prepare_broker
from consumers.metrics import ConsumerMetrics
from consumers.sinks.notes import BrokerMemory
from consumers.topology import House
from consumers.wires import Wires
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.catalogue import Kind
from kamaji_events.instance import InstanceEvents

__all__ = ["Identity", "open_session"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this process is, for as long as it lives."""

    instance: str
    term: int
    """Its start in ms since 1970."""
    events: InstanceEvents

    @classmethod
    def new(cls, instance: str, *, clock: Callable[[], float] = time.time) -> "Identity":
        """An identity that starts now."""
        term = int(clock() * 1000)
        events = InstanceEvents(Kind.SUBSCRIPTION, cluster="_", instance=instance, term=term, carry_term=False)
        return cls(instance, term, events)

    @property
    def worker(self) -> str:
        """Its name on the board: unique, since a restarted replica is another worker."""
        return f"{self.instance}.{self.term}"


@asynccontextmanager
async def open_session(
    url: str,
    house: House,
    identity: Identity,
    metrics: ConsumerMetrics,
    *,
    heartbeat: int = 10,
    history_age: float = 604_800,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[Wires]:
    """Connect, declare what is shared, read the board.

    Raises:
        BrokerError: it cannot be opened.
        BaseExceptionGroup: the session was lost; BrokerErrors are in it.
    """
    async with AsyncExitStack() as stack:

        async def opened(word: str) -> Broker:
            name = f"kamaji-events consumers {identity.instance} {word}"
            return await stack.enter_async_context(connect(url, name=name, heartbeat=heartbeat))

        publishing = await opened("publishing")
        exchange = house.layout.exchange_topology(history_age=f"{max(1, int(history_age))}s")
        await prepare_broker(publishing, house.common_topology(), exchange)
        consuming, reading = await opened("consuming"), await opened("reading")
        publisher = await stack.enter_async_context(publishing.publisher(patient=True))
        board = Board(reading, publisher, house.board, worker=identity.worker, clock=clock)
        memory = BrokerMemory(reading, publisher, house.notes, clock=clock)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        readers = [tasks.create_task(one.run()) for one in (board, memory)]
        await board.loaded.wait()
        yield Wires(
            consuming=consuming,
            publishing=publishing,
            reading=reading,
            publisher=publisher,
            board=board,
            memory=memory,
            house=house,
            events=identity.events,
            metrics=metrics,
            clock=clock,
        )
        for reader in readers:
            reader.cancel()
