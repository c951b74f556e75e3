"""The sinks' memory in the broker: a stream of notes that every worker reads and writes.

As the workers' board, it needs no lock: of two notes under one key the later one in the stream counts, everywhere. A
note is safe when it has come back by the stream. Notes are forgotten with the age of the stream, so it needs neither
compaction nor a disk of ours.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from uuid import uuid4

import msgspec
from pamqp import commands as spec

from kamaji_events.broker.connection import Broker
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.topology import Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.errors import PublishFailed

__all__ = ["BrokerMemory", "notes_topology"]

_log = logging.getLogger(__name__)

_AGE = "8D"
_BYTES = 256_000_000
_SEGMENT = 4_000_000
_PREFETCH = 1000
_PERSISTENT = 2
_LONGEST = 64 * 1024
_SWEEP = 10_000
"""Notes taken between two looks for those that have ended."""


class _Note(msgspec.Struct, array_like=True):
    key: str
    value: bytes | None
    until: float
    claimed: float | None = None
    """When it was made, of one that gives way to a note that stands then."""


def notes_topology(stream: str) -> Topology:
    """The stream; its age is more than any note is kept.

    Args:
        stream: its name, e.g. ``kamaji.notes``.
    """
    arguments = {
        "x-queue-type": "stream",
        "x-max-age": _AGE,
        "x-max-length-bytes": _BYTES,
        "x-stream-max-segment-size-bytes": _SEGMENT,
    }
    return Topology(queues=(Queue(stream, arguments),))


class BrokerMemory:
    """A ``Memory`` that all workers share and that outlives them; ``run`` must run while it is used.

    Args:
        reading: a connection for streams only: what is wrong with a stream closes the whole connection.
        publisher: on another connection.
        stream: see ``notes_topology``.
        clock: seconds since 1970.
        timeout: seconds for a note to come back.
    """

    def __init__(
        self,
        reading: Broker,
        publisher: ConfirmingPublisher,
        stream: str,
        *,
        clock: Callable[[], float] = time.time,
        timeout: float = 15.0,
    ) -> None:
        self.loaded = asyncio.Event()
        """Set when everything that was there at the start is read; ``get`` waits for it."""
        self._reading = reading
        self._publisher = publisher
        self._stream = stream
        self._clock = clock
        self._timeout = timeout
        self._notes: dict[str, _Note] = {}
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._taken = 0

    async def get(self, key: str) -> bytes | None:
        """The note; None when there is none, or when it has ended."""
        await self.loaded.wait()
        note = self._notes.get(key)
        return note.value if note is not None and note.until > self._clock() else None

    async def put(self, key: str, value: bytes, *, keep: float = 7 * 86_400.0) -> None:
        """Keep a note; when this returns it is in the stream, and every later ``get`` here sees it.

        Raises:
            ValueError: the note is longer than 64 KB.
            BrokerError: it may or may not be there.
        """
        if len(value) > _LONGEST:
            raise ValueError(f"a note of {len(value)} bytes: at most {_LONGEST} are kept")
        await self._write(_Note(key, value, self._clock() + keep))

    async def claim(self, key: str, value: bytes, *, keep: float) -> bytes:
        """Keep a note unless there is one: the first in the stream counts, for every worker.

        Returns:
            The value that stands.

        Raises:
            BrokerError: it may or may not be there.
        """
        now = self._clock()
        await self._write(_Note(key, value, now + keep, now))
        note = self._notes.get(key)
        return (note.value if note is not None else None) or value

    async def delete(self, key: str) -> None:
        """Forget a note; none there is fine.

        Raises:
            BrokerError: it may or may not be there.
        """
        await self._write(_Note(key, None, 0.0))

    async def _write(self, note: _Note) -> None:
        await self.loaded.wait()
        nonce = uuid4().hex
        waiting = self._waiting[nonce] = asyncio.get_running_loop().create_future()
        try:
            await self._publish(nonce, msgspec.msgpack.encode(note))
            async with asyncio.timeout(self._timeout):
                await waiting
        except TimeoutError as error:
            raise PublishFailed(f"a note did not come back within {self._timeout:g} s") from error
        finally:
            self._waiting.pop(nonce, None)

    async def _publish(self, nonce: str, body: bytes) -> None:
        properties = spec.Basic.Properties(message_id=nonce, delivery_mode=_PERSISTENT, app_id="kamaji-events")
        await self._publisher.publish(Outgoing(body, self._stream, properties), exchange="", mandatory=True)

    async def run(self) -> None:
        """Read notes for ever.

        Raises:
            BrokerError: the connection was lost.
        """
        mark = uuid4().hex
        await self._publish(mark, b"")
        arguments = {"x-stream-offset": "first"}
        async with self._reading.consume(self._stream, _PREFETCH, arguments=arguments) as consumer:
            async for incoming in consumer:
                await incoming.ack()
                nonce = incoming.properties.message_id or ""
                if nonce == mark:
                    self.loaded.set()
                elif incoming.body:
                    self._take(incoming.body)
                waiting = self._waiting.get(nonce)
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)

    def _take(self, body: bytes) -> None:
        try:
            note = msgspec.msgpack.decode(body, type=_Note)
        except msgspec.DecodeError:
            _log.warning("a note of a newer release is left aside")
            return
        standing = self._notes.get(note.key)
        if note.claimed is not None and standing is not None and standing.until > note.claimed:
            return
        if note.value is None:
            self._notes.pop(note.key, None)
        else:
            self._notes[note.key] = note
        self._taken += 1
        if self._taken % _SWEEP == 0:
            now = self._clock()
            self._notes = {key: kept for key, kept in self._notes.items() if kept.until > now}
