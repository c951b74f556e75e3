"""The journal: memory, outbox and leadership in one queue.

For each batch: write its delta and await the confirm; publish its events and await theirs; only then the next. So
a crash leaves either nothing said, or events whose bytes stand in the journal, and the next leader publishes the
last batch again unless something tells that it was out. Now and then a base replaces all that is older.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.topology import Layout
from kamaji_events.errors import BrokerError, JournalDamaged
from publisher.journal.policy import JournalPolicy
from publisher.journal.reading import Memorized, read
from publisher.journal.recollect import Recollection, recollect
from publisher.journal.term import JournalTerm
from publisher.journal.token import Token
from publisher.journal.witness import Ground, Witness
from publisher.memory import Recovered, Term

__all__ = ["Journal"]

_log = logging.getLogger(__name__)

_PAUSE = 0.5
_GOODBYE = 2.0


class Journal:
    """The memory of one cluster's publisher; see ``publisher.memory.Memory``.

    One of these lives as long as its process: a leadership that comes back to the process which wrote last goes on
    in the same term.

    Args:
        layout: names in the broker.
        cluster: management cluster.
        policy: when it does what.
        clock: seconds since 1970.
        ground: declares the exchange, and the history behind it, once more.
    """

    def __init__(
        self,
        layout: Layout,
        cluster: str,
        *,
        policy: JournalPolicy | None = None,
        clock: Callable[[], float] = time.time,
        ground: Ground | None = None,
    ) -> None:
        self._layout = layout
        self._cluster = cluster
        self._queue = layout.journal(cluster)
        self._policy = policy or JournalPolicy()
        self._clock = clock
        self._writer = secrets.randbits(63)
        self._witness = Witness(layout, cluster, ground, grace=self._policy.grace)

    @asynccontextmanager
    async def lead(self, broker: Broker) -> AsyncIterator[Term]:
        """Wait for the token, recover what is remembered, and lead until the block is left.

        Raises:
            BrokerError: the broker was lost.
            JournalNewer: a newer release wrote the journal.
            JournalDamaged: it cannot be read, or parts stayed missing.
        """
        await self._declare(broker)
        token, found, known = await self._take(broker)
        try:
            recovered = self._recovered(found, known)
            await self._witness.stand(broker, first=recovered.first)
            term = JournalTerm(
                token,
                recovered,
                writer=self._writer,
                exchange=self._layout.events,
                witness=self._witness.name,
                policy=self._policy,
                clock=self._clock,
            )
            await term.begin(found)
            try:
                yield term
            finally:
                with suppress(BrokerError, TimeoutError):
                    async with asyncio.timeout(_GOODBYE):
                        await term.note_done()
        finally:
            await token.__aexit__(None, None, None)

    async def _declare(self, broker: Broker) -> None:
        topology = self._layout.journal_topology(self._cluster)
        new = not await declare.exists(broker, topology.queues[0])
        await declare.apply(broker, topology)
        if new:
            await asyncio.sleep(self._policy.settle)

    async def _take(self, broker: Broker) -> tuple[Token, Memorized, Recollection | None]:
        """The token and what is remembered; read again while that cannot be all."""
        patience = _Patience(self._policy.patience)
        known: Recollection | None = None
        while True:
            token = Token(broker, self._queue, timeout=self._policy.timeout)
            await token.__aenter__()
            try:
                await patience.waiting_for(token.active())
                found = read(await token.read())
                if known is None and (found.empty or (found.lost is not None and not found.objects)):
                    _log.info("the journal holds no memory, reading what the history knows of %s", self._cluster)
                    known = await recollect(broker, self._layout.history, self._cluster)
                if self._believable(found, known if found.empty else None, late=patience.over):
                    return token, found, known
            except BaseException:
                await token.__aexit__(None, None, None)
                raise
            await token.__aexit__(None, None, None)
            await asyncio.sleep(_PAUSE)

    def _believable(self, found: Memorized, known: Recollection | None, *, late: bool) -> bool:
        """Whether to go by what was found; a former leader may still hold the rest."""
        if found.gap is not None and late:
            raise JournalDamaged(
                f"the journal {self._queue} has a gap: {found.gap}; 'kamaji-events journal export' saves what there "
                "is, 'journal reset' begins anew (a new epoch)"
            )
        if found.gap is None and (known is None or late):
            return True
        _log.warning("the journal is not whole (%s), reading it again", found.gap or "empty, yet the history is not")
        return False

    def _recovered(self, found: Memorized, known: Recollection | None) -> Recovered:
        own = found.writer == self._writer and not found.empty
        former = max(found.term, known.term if known is not None else 0)
        lost, facts, objects = found.lost, found.facts, found.objects
        written = found.written / 1000 if found.written else None
        if known is not None and (found.empty or lost is not None):
            objects, written = known.objects, known.last
        if known is not None and found.empty:
            facts = {"epoch": str(known.epoch)}
            lost = (
                f"the journal {self._queue} is empty, yet the history holds {known.events} events of this cluster, "
                f"up to term {known.term}"
            )
        return Recovered(
            term=former if own else former + 1,
            own=found.number if own else None,
            first=not found.number and lost is None,
            lost=lost,
            objects=objects,
            versions=found.versions,
            facts=facts,
            unwatched_since=written,
        )


class _Patience:
    """Time that a former leader is given, counted from when the token came."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began: float | None = None

    async def waiting_for(self, active: Awaitable[None]) -> None:
        """Wait for the token; a long wait means that somebody led meanwhile: the time counts anew."""
        loop = asyncio.get_running_loop()
        asked = loop.time()
        await active
        if self._began is None or loop.time() - asked > self._seconds:
            self._began = loop.time()

    @property
    def over(self) -> bool:
        """True when it has passed."""
        return self._began is not None and asyncio.get_running_loop().time() - self._began >= self._seconds
