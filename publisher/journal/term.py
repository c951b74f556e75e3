"""One leadership: batches go in and out here, one at a time."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import orjson
from pamqp import commands as spec

from kamaji_events.broker.wire import Outgoing
from kamaji_events.envelope import Message
from kamaji_events.errors import BrokerError, BrokerUnavailable, PublishFailed
from publisher.journal.codec import Kind, Record, encode, parts
from publisher.journal.policy import JournalPolicy
from publisher.journal.reading import LOST, Memorized
from publisher.journal.token import Token
from publisher.memory import BLOCKED, Delta, Recovered

__all__ = ["JournalTerm"]

_log = logging.getLogger(__name__)

_REPEAT = 1.0
_QUESTIONS = 16
"""Questions that wait; who asked more than that will ask again."""


class JournalTerm:
    """A leadership; see ``publisher.memory.Term``.

    Args:
        token: held, and read.
        recovered: what was remembered.
        writer: the process's random number.
        exchange: where events go.
        witness: the exchange that goes with that one, see ``publisher.journal.witness``.
        policy: when it does what.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        token: Token,
        recovered: Recovered,
        *,
        writer: int,
        exchange: str,
        witness: str,
        policy: JournalPolicy,
        clock: Callable[[], float],
    ) -> None:
        self.recovered = recovered
        self._token = token
        self._writer = writer
        self._exchange = exchange
        self._witness = witness
        self._policy = policy
        self._clock = clock
        self._objects = dict(recovered.objects)
        self._versions = dict(recovered.versions)
        self._facts = dict(recovered.facts)
        self._number = 0
        self._out = 0
        self._noted = 0
        self._bytes = 0
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._based_at = self._committed_at = self._looked_at = self._loop.time()
        self._base = _Arrival()
        self._questions: deque[str] = deque(maxlen=_QUESTIONS)
        self._refused: str | None = None
        token.taker = self._take
        token.channel.listen(self)

    async def begin(self, found: Memorized) -> None:
        """Make the term known, then publish what a former leader may not have published.

        Raises:
            BrokerError: the leadership is over.
        """
        self._number = self._out = self._noted = found.number
        if self.recovered.own is None:
            lost = {LOST: self.recovered.lost} if self.recovered.lost is not None else {}
            facts = Delta(facts=dict(self.recovered.facts) | lost) if not found.number else Delta()
            record = replace(self._record(Kind.TERM, found.number), payload=facts)
            await self._surely(lambda: self._token.write(record))
        if found.unfinished is not None:
            self._noted = found.number - 1
            await self._surely(lambda: self._publish(found.unfinished.messages if found.unfinished else ()))
        _log.info("leading", extra={"term": self.recovered.term, "number": found.number, "objects": len(self._objects)})

    @property
    def next(self) -> int:
        """The number that the next delta gets."""
        return self._number + 1

    @property
    def problem(self) -> str | None:
        """See ``publisher.memory.Term``."""
        return BLOCKED if self._token.blocked else self._refused

    async def commit(self, delta: Delta) -> None:
        """Remember a batch, publish its events, return once every confirm is there; see ``publisher.memory.Term``."""
        async with self._lock:
            number = self._number + 1
            bodies = [encode(record, deflate=True) for record in self._cut(Kind.DELTA, number, delta)]
            await self._surely(lambda: self._token.append(*bodies))
            self._apply(number, delta)
            await self._surely(lambda: self._publish(delta.messages))
            self._out = number
            self._bytes += sum(map(len, bodies))
            self._committed_at = self._loop.time()
            if self._token.held > self._policy.most_messages or self._bytes > self._policy.most_bytes:
                await self._rebase()
        self._wake.set()

    async def keep(self) -> None:
        """Note what is out, write anew what was held long, answer questions; until the leadership is over.

        Raises:
            BrokerError: it is.
        """
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    await self._wake.wait()
            self._wake.clear()
            self._token.check()
            await self._answer()
            await self._look()
            if self._loop.time() - self._committed_at >= self._policy.idle:
                await self.note_done()
            if self._loop.time() - self._based_at >= self._policy.renew:
                async with self._lock:
                    await self._rebase()

    async def _look(self) -> None:
        """Notice a deleted exchange though nothing is published: who reads binds again, but the history does not."""
        if self._loop.time() - self._looked_at >= self._policy.look:
            with suppress(PublishFailed):  # no answer, since an alarm holds the connection up: asked again
                await self._token.see(self._witness)
            self._looked_at = self._loop.time()

    async def note_done(self) -> None:
        """Write that the last batch is out, unless that is written or it is not.

        Raises:
            BrokerError: the leadership is over.
        """
        async with self._lock:
            if self._noted < self._out == self._number:
                record = self._record(Kind.DONE, self._out)
                await self._surely(lambda: self._token.write(record))
                self._noted = self._out

    def lost(self, error: BrokerError) -> None:  # noqa: ARG002 - the token keeps it
        """Told by the channel."""
        self._base.arrived.set()
        self._wake.set()

    def _patience(self) -> float:
        now = self._loop.time()
        until = min(self._based_at + self._policy.renew, self._looked_at + self._policy.look)
        if self._noted < self._out:
            until = min(until, self._committed_at + self._policy.idle)
        return max(0.0, until - now)

    def _record(self, kind: Kind, number: int) -> Record:
        return Record(kind, self.recovered.term, number, written=int(self._clock() * 1000), writer=self._writer)

    def _cut(self, kind: Kind, number: int, delta: Delta) -> list[Record]:
        written = int(self._clock() * 1000)
        cut = list(parts(delta))
        return [
            Record(kind, self.recovered.term, number, part, part == len(cut) - 1, written, self._writer, payload)
            for part, payload in enumerate(cut)
        ]

    def _apply(self, number: int, delta: Delta) -> None:
        self._number = number
        for key, memory in delta.changed.items():
            if memory is None:
                self._objects.pop(key, None)
            else:
                self._objects[key] = memory
        self._versions.update(delta.versions)
        self._facts.update(delta.facts)

    async def _publish(self, messages: tuple[Message, ...]) -> None:
        """Publish to an exchange that has had its bindings all the while.

        Deleted and declared again by whomever, it would confirm everything and pass it on to nobody.
        """
        if messages:
            await self._token.publisher.publish_many(messages, exchange=self._exchange)
            await self._token.see(self._witness)

    async def _surely(self, publish: Callable[[], Awaitable[None]]) -> None:
        """Publish until it is confirmed, the same bytes each time; only a lost leadership ends this."""
        while True:
            try:
                await publish()
            except PublishFailed as error:
                self._refused = str(error)
                _log.warning("RabbitMQ does not take the batch, sending the same again: %s", error)
                self._token.check()
                await self._token.unblocked()
                await asyncio.sleep(_REPEAT)
            else:
                self._refused = None
                return

    async def _rebase(self) -> None:
        """Write everything anew and let go of what is older; between batches only."""
        records = self._cut(Kind.BASE, self._number, Delta((), self._objects, self._versions, self._facts))
        self._base = base = _Arrival(len(records))
        for record in records:
            body = await asyncio.to_thread(encode, record, deflate=True)
            await self._surely(lambda body=body: self._token.append(body))  # type: ignore[misc]
        await base.arrived.wait()
        self._token.check()
        self._token.release_before(base.first)
        self._noted, self._bytes, self._based_at = self._number, 0, self._loop.time()

    def _take(self, record: Record, tag: int, reply_to: str) -> None:
        """A record comes back from the broker: it is held, unless a former leader or nobody wrote it."""
        if record.kind is Kind.QUESTION:
            self._token.channel.ack(tag)
            self._questions.append(reply_to)
            self._wake.set()
        elif record.term > self.recovered.term:
            self._token.channel.lose(BrokerUnavailable("somebody else leads in a later term"), at_broker=True)
        elif record.term < self.recovered.term:
            self._token.channel.ack(tag)
        else:
            self._token.hold(tag)
            if record.kind is Kind.BASE:
                self._base.note(record.part, tag)

    async def _answer(self) -> None:
        while self._questions:
            reply_to = self._questions.popleft()
            properties = spec.Basic.Properties(content_type="application/json")
            answer = Outgoing(orjson.dumps(self.facts()), reply_to, properties)
            with suppress(PublishFailed):  # who asked is gone: nobody's business
                await self._token.publisher.publish(answer, exchange="")

    def facts(self) -> Mapping[str, object]:
        """What ``kamaji-events journal show`` shows."""
        return {
            "term": self.recovered.term,
            "number": self._number,
            "objects": len(self._objects),
            "objectBytes": sum(map(len, self._objects.values())),
            "versions": self._versions,
            "facts": self._facts,
            "messages": self._token.held,
            "unfinished": self._out < self._number,
        }


class _Arrival:
    """The parts of a base on their way back from the broker."""

    def __init__(self, expected: int = 0) -> None:
        self._expected = expected
        self._tags: dict[int, int] = {}
        self.arrived = asyncio.Event()

    @property
    def first(self) -> int:
        """The delivery tag before which all is older than the base."""
        return min(self._tags.values())

    def note(self, part: int, tag: int) -> None:
        """A part came; copies that were sent again count once."""
        self._tags.setdefault(part, tag)
        if len(self._tags) == self._expected:
            self.arrived.set()
