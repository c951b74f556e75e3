"""The token: being the journal's single active consumer, on the very channel that events are published on.

The broker gives a queue's messages to one consumer. When that one is cancelled, or its channel or connection ends,
nothing more can be published on this channel either: leadership and the right to speak end in the same moment,
in the broker's order and not by a clock.
"""

import asyncio
import secrets
from collections.abc import Callable
from types import TracebackType
from typing import Self

from pamqp import commands as spec

from kamaji_events.broker.channel import Content
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.wire import Outgoing
from kamaji_events.errors import BrokerError, BrokerUnavailable, JournalError, PublishFailed, TopologyMissing
from publisher.journal.codec import Kind, Record, decode, encode

__all__ = ["Token"]

_PREFETCH = 60_000
"""More than a journal ever holds: what is not delivered cannot be held."""
_CONTENT_TYPE = "application/x-kamaji-journal"

Taker = Callable[[Record, int, str], None]
"""Takes a record that was delivered, its delivery tag and its ``reply_to``."""


class Token:
    """A candidate for leadership, then the leader; one channel from beginning to end.

    Args:
        broker: the connection.
        queue: the journal.
        timeout: seconds that a publish may go without a confirm.
        lenient: collect what cannot be read in ``bodies``, with all else, instead of failing.
    """

    def __init__(self, broker: Broker, queue: str, *, timeout: float, lenient: bool = False) -> None:
        self.queue = queue
        self._broker = broker
        self.channel = broker.channel()
        self.publisher = ConfirmingPublisher(self.channel, timeout=timeout)
        self.taker: Taker | None = None
        """Takes what is delivered once ``read`` has returned; marks excepted."""
        self.bodies: list[bytes] = []
        """The records as they were delivered, for a lenient reader."""
        self._lenient = lenient
        self._timeout = timeout
        self._records: list[Record] = []
        self._held: list[int] = []
        self._error: Exception | None = None
        self._active = asyncio.Event()
        self._read = asyncio.Event()
        self._lost = asyncio.Event()
        self._mark = 0

    async def __aenter__(self) -> Self:
        await self.channel.__aenter__()
        try:
            self.channel.listen(self)
            await self.publisher.__aenter__()
            await self._stand_in_line()
        except BaseException:
            await self.channel.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # by closing the channel, never by a cancel alone: what it holds must be there for the next one
        await self.publisher.__aexit__(kind, error, trace)
        await self.channel.aclose()

    async def _stand_in_line(self) -> None:
        """Consume; a mark of one's own comes back at once when nobody leads and nothing is written."""
        tag = f"journal.{secrets.token_hex(8)}"
        self.channel.consumers[tag] = self._deliver
        await self.channel.call(spec.Basic.Qos(prefetch_size=0, prefetch_count=_PREFETCH, global_=False))
        await self.channel.call(spec.Basic.Consume(queue=self.queue, consumer_tag=tag))
        await self.write(Record(Kind.MARKER, writer=secrets.randbits(63)))

    @property
    def held(self) -> int:
        """Messages of the journal that are held unacknowledged."""
        return len(self._held)

    @property
    def blocked(self) -> bool:
        """True while an alarm holds publishers up."""
        return self._broker.blocked

    async def unblocked(self) -> None:
        """Wait until the broker takes messages, should an alarm hold publishers up; or until the token is lost."""
        blocked = asyncio.ensure_future(self._broker.unblocked())
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait([blocked, lost], return_when=asyncio.FIRST_COMPLETED)
        finally:
            blocked.cancel()
            lost.cancel()
        self.check()

    def check(self) -> None:
        """Raise what the token was lost by, if it was."""
        if self._error is not None:
            raise type(self._error)(*self._error.args) from self._error

    async def write(self, *records: Record, deflate: bool = False) -> None:
        """Append records; returns when the broker has them.

        Raises:
            PublishFailed: refused or not confirmed in time: write the same again.
            BrokerError: the token is lost.
        """
        await self.append(*[encode(record, deflate=deflate) for record in records])

    async def append(self, *bodies: bytes) -> None:
        """Append records that are encoded; see ``write``."""
        properties = spec.Basic.Properties(content_type=_CONTENT_TYPE, delivery_mode=2)
        await self.publisher.publish_many([Outgoing(body, self.queue, properties) for body in bodies], exchange="")

    async def see(self, witness: str) -> None:
        """See that an exchange is still there, behind all that was published on this channel before.

        Raises:
            PublishFailed: no answer came: publish and look again.
            BrokerError: it is gone (``TopologyMissing``), or the token is lost: RabbitMQ closes the channel over it.
        """
        try:
            await self.channel.call(spec.Exchange.Declare(exchange=witness, passive=True), timeout=self._timeout)
        except TopologyMissing as error:
            raise TopologyMissing(f"the events exchange was deleted, it is made anew ({error})") from error
        except BrokerUnavailable as error:
            self.check()
            raise PublishFailed(str(error)) from error

    async def active(self) -> None:
        """Wait for the token.

        Raises:
            BrokerError: the channel or connection was lost.
            JournalError: what was delivered cannot be read.
        """
        await self._active.wait()
        self.check()

    async def read(self) -> list[Record]:
        """Everything that is in the journal; needs the token.

        A count of messages is stale for seconds after a broker's start, so a fresh mark is written, and what comes
        before it is all there is.

        Raises:
            BrokerError: the channel or connection was lost.
            JournalError: a message cannot be read.
        """
        self._mark = secrets.randbits(63)
        await self.write(Record(Kind.MARKER, writer=self._mark))
        await self._read.wait()
        self.check()
        records, self._records = self._records, []
        return records

    def hold(self, tag: int) -> None:
        """Keep a delivery unacknowledged: it is a part of the memory."""
        self._held.append(tag)

    def release_before(self, tag: int) -> None:
        """Acknowledge everything held that was delivered before ``tag``."""
        older = [each for each in self._held if each < tag]
        if older:
            self.channel.ack(older[-1], multiple=True)
            del self._held[: len(older)]

    def release_all(self) -> None:
        """Acknowledge everything held: it is gone for ever."""
        if self._held:
            self.release_before(self._held[-1] + 1)

    def lost(self, error: BrokerError) -> None:
        """Told by the channel."""
        self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        self._active.set()
        self._read.set()
        self._lost.set()

    def _deliver(self, content: Content) -> None:
        self._active.set()
        tag = content.method.delivery_tag
        try:
            record = decode(content.body)
        except JournalError as error:
            self._unreadable(content.body, tag, error)
            return
        if record.kind is Kind.MARKER:
            self.channel.ack(tag)
            if record.writer == self._mark:
                self._read.set()
        elif self.taker is not None:
            self.taker(record, tag, content.properties.reply_to or "")
        elif record.kind is Kind.QUESTION:
            self.channel.ack(tag)  # from before anybody led: who asked will ask again
        else:
            self._records.append(record)
            self._keep(content.body, tag)

    def _unreadable(self, body: bytes, tag: int, error: JournalError) -> None:
        if self._lenient:
            self._keep(body, tag)
        else:
            self._fail(error)

    def _keep(self, body: bytes, tag: int) -> None:
        if self._lenient:
            self.bodies.append(body)
        self.hold(tag)
