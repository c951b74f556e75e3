"""The board: the records of all workers, read in one order, and the states that follow from them.

A stream in the broker is log and notice board in one: it outlives workers and broker, every worker reads all of it,
and nobody needs a lock: a record counts by its place in the stream. Now and then one worker writes all states down
as a snapshot, so that the beginning can be dropped.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable
from uuid import uuid4

import msgspec
from pamqp import commands as spec

from consumers.record import Record, Snapshot, decode_record, encode_record
from consumers.state import States, SubscriptionState, fold
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.consume import Incoming
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.wire import Outgoing

__all__ = ["Board"]

_log = logging.getLogger(__name__)

_PREFETCH = 1000
_SNAPSHOT_BYTES = 512_000
"""Records since the last snapshot that call for a new one."""
_PERSISTENT = 2
_UNKNOWN = SubscriptionState()


class Board:
    """The shared states of all subscriptions; ``run`` must run while it is used.

    Args:
        reading: a connection for streams only: what is wrong with a stream closes the whole connection.
        publisher: on another connection.
        stream: its name.
        worker: who writes.
        clock: seconds since 1970.
        snapshot_bytes: records since the last snapshot that call for a new one.
    """

    def __init__(
        self,
        reading: Broker,
        publisher: ConfirmingPublisher,
        stream: str,
        *,
        worker: str,
        clock: Callable[[], float] = time.time,
        snapshot_bytes: int = _SNAPSHOT_BYTES,
    ) -> None:
        self.worker = worker
        self.clock = clock
        self.loaded = asyncio.Event()
        """Set when everything that was there at the start is read."""
        self._reading = reading
        self._publisher = publisher
        self._stream = stream
        self._states: States = {}
        self._waiting: dict[str, asyncio.Future[tuple[SubscriptionState, SubscriptionState]]] = {}
        self._change: asyncio.Future[None] | None = None
        self._offset = -1
        self._early: list[tuple[int, Record]] | None = []
        self._bytes = 0
        self._enough = snapshot_bytes * (1 + random.random())  # noqa: S311 - so that workers do not all write one

    @property
    def states(self) -> States:
        """The states by subscription; never changed in place."""
        return self._states

    def get(self, name: str) -> SubscriptionState:
        """A subscription's state; the empty one when nothing was ever written of it."""
        return self._states.get(name, _UNKNOWN)

    async def change(self) -> None:
        """Wait for the next record."""
        if self._change is None or self._change.done():
            self._change = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._change)

    async def news(self, seconds: float) -> None:
        """Wait for the next record or nudge, ``seconds`` at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self.change()

    def nudge(self) -> None:
        """Wake everyone who waits for a change: something else changed."""
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    async def until(self, name: str, met: Callable[[SubscriptionState], bool]) -> SubscriptionState:
        """Wait until a subscription's state is as wanted."""
        while not met(state := self.get(name)):
            await self.change()
        return state

    async def append(self, record: Record) -> tuple[SubscriptionState, SubscriptionState]:
        """Write a record and read it back.

        Returns:
            The subscription's state before and after it: whether a claim was won, whether anything changed.
        """
        nonce = uuid4().hex
        waiting: asyncio.Future[tuple[SubscriptionState, SubscriptionState]]
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[nonce] = waiting
        try:
            await self._publish(nonce, encode_record(record))
            return await waiting
        finally:
            self._waiting.pop(nonce, None)

    async def _publish(self, nonce: str, body: bytes) -> None:
        properties = spec.Basic.Properties(message_id=nonce, delivery_mode=_PERSISTENT, app_id="kamaji-events")
        await self._publisher.publish(Outgoing(body, self._stream, properties), exchange="", mandatory=True)

    async def run(self) -> None:
        """Read the board for ever.

        Raises:
            BrokerError: the connection was lost.
        """
        mark = uuid4().hex
        await self._publish(mark, b"")
        arguments = {"x-stream-offset": "first"}
        async with self._reading.consume(self._stream, _PREFETCH, arguments=arguments) as consumer:
            async for incoming in consumer:
                await incoming.ack()
                self._take(incoming)
                if incoming.properties.message_id == mark:
                    self._begin()
                if self._bytes > self._enough and self.loaded.is_set():
                    await self._write_snapshot()

    def _begin(self) -> None:
        """Our own mark came: what is there is read. Records that no snapshot preceded are taken as they are."""
        early, self._early = self._early or [], None
        for offset, record in early:
            self._apply(offset, record)
        self.loaded.set()

    def _take(self, incoming: Incoming) -> None:
        offset = int(incoming.headers.get("x-stream-offset", self._offset + 1))
        if offset == 0:
            self._early = None  # from the very beginning: nothing was dropped
        if not incoming.body:
            return
        self._bytes += len(incoming.body)
        record = decode_record(incoming.body)
        if record is None:
            _log.warning("a record on the board is of a newer release and is left aside", extra={"offset": offset})
        elif self._early is None:
            before = self.get(record.subscription)
            self._apply(offset, record)
            self._answer(incoming.properties.message_id or "", before, self.get(record.subscription))
        elif isinstance(record, Snapshot):
            self._start_from(record)
        else:
            self._early.append((offset, record))

    def _start_from(self, snapshot: Snapshot) -> None:
        """The first snapshot after a beginning that was dropped: older records are in it."""
        self._states = msgspec.convert(snapshot.states, States)
        early, self._early = self._early or [], None
        for offset, record in early:
            if offset > snapshot.as_of:
                self._apply(offset, record)

    def _apply(self, offset: int, record: Record) -> None:
        self._offset = offset
        if isinstance(record, Snapshot):
            self._bytes = 0
        self._states = fold(self._states, record)
        self.nudge()

    def _answer(self, nonce: str, before: SubscriptionState, after: SubscriptionState) -> None:
        waiting = self._waiting.get(nonce)
        if waiting is not None and not waiting.done():
            waiting.set_result((before, after))

    async def _write_snapshot(self) -> None:
        states = msgspec.to_builtins(self._states)
        snapshot = Snapshot(subscription="", at=self.clock(), by=self.worker, states=states, as_of=self._offset)
        self._bytes = 0
        await self._publish(uuid4().hex, encode_record(snapshot))
