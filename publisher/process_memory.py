"""A memory that ends with its process: for one replica that may forget.

Leadership is not contended, so two publishers run this way would both publish. Within the process nothing is lost:
what was not confirmed when a connection broke is published again, and since the whole process is one term, with the
same bytes.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kamaji_events.broker.connection import Broker
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.topology import Layout
from kamaji_events.errors import PublishFailed
from publisher.memory import BLOCKED, Delta, Recovered, Term

__all__ = ["ProcessMemory"]

_log = logging.getLogger(__name__)

_REPEAT_SECONDS = 1.0


class ProcessMemory:
    """Gives the leadership of one and the same term again and again, without asking anybody.

    Args:
        layout: names in the broker.
        timeout: seconds without any confirm after which a batch is published again.
        clock: seconds since 1970; the term is taken from it, so that a later process has a later term.
    """

    def __init__(self, layout: Layout, *, timeout: float = 30.0, clock: Callable[[], float] = time.time) -> None:
        self._layout = layout
        self._timeout = timeout
        self._term = int(clock())
        self._leads = False
        self._number = 0

    @asynccontextmanager
    async def lead(self, broker: Broker) -> AsyncIterator[Term]:
        """Lead at once; see ``publisher.memory.Memory``."""
        recovered = Recovered(term=self._term, own=self._number if self._leads else None)
        self._leads = True
        async with broker.publisher(timeout=self._timeout) as publisher:
            yield _ProcessTerm(self, broker, publisher, recovered)

    @property
    def number(self) -> int:
        """The last batch whose confirms all came."""
        return self._number

    def confirmed(self) -> None:
        """Note that another batch is safe."""
        self._number += 1

    @property
    def exchange(self) -> str:
        """Where events go."""
        return self._layout.events


class _ProcessTerm:
    def __init__(
        self, memory: ProcessMemory, broker: Broker, publisher: ConfirmingPublisher, recovered: Recovered
    ) -> None:
        self._memory = memory
        self._broker = broker
        self._publisher = publisher
        self._refused: str | None = None
        self.recovered = recovered

    @property
    def next(self) -> int:
        return self._memory.number + 1

    @property
    def problem(self) -> str | None:
        return BLOCKED if self._broker.blocked else self._refused

    async def commit(self, delta: Delta) -> None:
        while not await self._published(delta):  # noqa: ASYNC110 - a pause between tries, nothing is polled
            await asyncio.sleep(_REPEAT_SECONDS)
        self._memory.confirmed()

    async def _published(self, delta: Delta) -> bool:
        """Publish all of it; False when the broker refused or did not confirm a part: the whole is sent again."""
        try:
            await self._publisher.publish_many(delta.messages, exchange=self._memory.exchange)
        except PublishFailed as error:
            self._refused = str(error)
            _log.warning("RabbitMQ does not take events, trying again with the same bytes: %s", error)
            return False
        self._refused = None
        return True

    async def keep(self) -> None:
        raise await self._broker.lost()
