"""The journal for people: show it, save it, put it back, begin anew.

``show`` asks the leader. The others take the token, so nobody may lead meanwhile: they say so and give up after a
while. They work on a journal that cannot be read, too.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO
from uuid import uuid4

import orjson
from pamqp import commands as spec

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.topology import Layout, Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.errors import BrokerUnavailable, InputError, JournalDamaged, TopologyMissing
from publisher.journal.codec import Kind, Record, decode, encode
from publisher.journal.reading import read
from publisher.journal.token import Token

__all__ = ["export_journal", "import_journal", "reset_journal", "show_journal"]

_MAGIC = b"kamaji-journal-export/1\n"
_LENGTH = struct.Struct(">I")
_TIMEOUT = 30.0


async def show_journal(broker: Broker, layout: Layout, cluster: str, *, wait: float = 3.0) -> Mapping[str, Any]:
    """What the journal remembers, in figures; ``leads`` tells whether a leader answered.

    Args:
        broker: a connection.
        layout: names in the broker.
        cluster: management cluster.
        wait: seconds for the leader's answer; without one the token is taken for a moment.

    Raises:
        TopologyMissing: this cluster has no journal.
        JournalError: nobody leads and the journal cannot be read.
    """
    await _must_exist(broker, layout, cluster)
    answer = await _ask(broker, layout.journal(cluster), wait)
    if answer is not None:
        return {"leads": True, **answer}
    async with _taken(broker, layout, cluster, wait=wait) as token:
        found = read(await token.read())
        return {
            "leads": False,
            "term": found.term,
            "number": found.number,
            "objects": len(found.objects),
            "objectBytes": sum(map(len, found.objects.values())),
            "versions": found.versions,
            "facts": found.facts,
            "messages": token.held,
            "unfinished": found.unfinished is not None,
            "gap": found.gap,
            "lost": found.lost,
        }


async def export_journal(broker: Broker, layout: Layout, cluster: str, file: BinaryIO, *, wait: float = 10.0) -> int:
    """Write every record as it is, readable or not; gives back how many.

    Raises:
        BrokerUnavailable: a publisher leads, or the broker was lost.
        TopologyMissing: this cluster has no journal.
    """
    await _must_exist(broker, layout, cluster)
    async with _taken(broker, layout, cluster, wait=wait, lenient=True) as token:
        await token.read()
        file.write(_MAGIC)
        file.writelines(_LENGTH.pack(len(body)) + body for body in token.bodies)
        return len(token.bodies)


async def import_journal(broker: Broker, layout: Layout, cluster: str, file: BinaryIO, *, wait: float = 10.0) -> int:
    """Put back what ``export_journal`` wrote, into a journal that is empty; gives back how many records.

    Raises:
        InputError: the file is no export, or the journal is not empty.
        JournalError: a record in the file cannot be read; nothing was written.
        BrokerUnavailable: a publisher leads, or the broker was lost.
    """
    bodies = _saved(file)
    await declare.apply(broker, layout.journal_topology(cluster))
    async with _taken(broker, layout, cluster, wait=wait, lenient=True) as token:
        await token.read()
        if token.bodies:
            raise InputError(f"the journal of {cluster} holds {len(token.bodies)} records: 'journal reset' it first")
        await token.append(*bodies)
    return len(bodies)


async def reset_journal(broker: Broker, layout: Layout, cluster: str, *, wait: float = 10.0) -> int:
    """Forget everything; the next leader finds its memory lost and begins a new epoch. Gives back how many records.

    Raises:
        BrokerUnavailable: a publisher leads, or the broker was lost.
        TopologyMissing: this cluster has no journal.
    """
    await _must_exist(broker, layout, cluster)
    async with _taken(broker, layout, cluster, wait=wait, lenient=True) as token:
        await token.read()
        token.release_all()
        return len(token.bodies)


def _saved(file: BinaryIO) -> list[bytes]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise InputError("this is no file of 'kamaji-events journal export'")
    bodies: list[bytes] = []
    while head := file.read(_LENGTH.size):
        body = file.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
        if len(head) < _LENGTH.size or len(body) < _LENGTH.unpack(head)[0]:
            raise JournalDamaged(f"the file ends in the middle of record {len(bodies) + 1}")
        decode(body)
        bodies.append(body)
    return bodies


async def _must_exist(broker: Broker, layout: Layout, cluster: str) -> None:
    if not await declare.exists(broker, layout.journal_topology(cluster).queues[0]):
        raise TopologyMissing(f"there is no journal of cluster {cluster!r} here: {layout.journal(cluster)}")


@asynccontextmanager
async def _taken(
    broker: Broker, layout: Layout, cluster: str, *, wait: float, lenient: bool = False
) -> AsyncIterator[Token]:
    async with Token(broker, layout.journal(cluster), timeout=_TIMEOUT, lenient=lenient) as token:
        try:
            async with asyncio.timeout(wait):
                await token.active()
        except TimeoutError as error:
            raise BrokerUnavailable(
                f"a publisher of {cluster} leads and holds the journal: stop its replicas first"
            ) from error
        yield token


async def _ask(broker: Broker, journal: str, wait: float) -> dict[str, Any] | None:
    """The leader's answer; None when none comes."""
    reply_to = f"{journal}.answer.{uuid4().hex}"
    await declare.apply(broker, Topology(queues=(Queue(reply_to, exclusive=True),)))
    async with broker.publisher() as publisher, broker.consume(reply_to) as answers:
        properties = spec.Basic.Properties(reply_to=reply_to, delivery_mode=2)
        await publisher.publish(Outgoing(encode(Record(Kind.QUESTION)), journal, properties), exchange="")
        try:
            async with asyncio.timeout(wait):
                answer = await anext(answers)
        except TimeoutError:
            return None
        await answer.ack()
        facts: dict[str, Any] = orjson.loads(answer.body)
        return facts
