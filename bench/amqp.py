"""Baselines of publishing: the fastest confirm loop that can be written, and what an aio-pika user writes."""

import asyncio
import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import aio_pika
from pamqp import commands as spec
from pamqp.body import ContentBody
from pamqp.frame import marshal, unmarshal
from pamqp.header import ContentHeader, ProtocolHeader
from yarl import URL

from bench.measure import Sample, Stopwatch
from kamaji_events.envelope import APP_ID, CONTENT_TYPE, Message

__all__ = ["publish_by_aio_pika", "publish_raw"]

_WINDOW = 2000
_BATCH = 200
_HEAD = struct.Struct(">BHI")
_CONFIRM = struct.Struct(">HHQB")
_BASIC_ACK = (60, 80)


def _framed(message: Message, exchange: str) -> bytes:
    properties = spec.Basic.Properties(
        content_type=CONTENT_TYPE,
        delivery_mode=2,
        correlation_id=message.correlation_id,
        message_id=message.id,
        timestamp=datetime.fromtimestamp(message.seconds, UTC),
        message_type=message.type,
        app_id=APP_ID,
    )
    frames = (
        spec.Basic.Publish(exchange=exchange, routing_key=message.routing_key),
        ContentHeader(body_size=len(message.body), properties=properties),
        ContentBody(message.body),
    )
    return b"".join(marshal(frame, 1) for frame in frames)


class _Confirms(asyncio.Protocol):
    """Reads nothing but confirms, once it is told to."""

    def __init__(self) -> None:
        self.confirmed = 0
        self.news = asyncio.Event()
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data
        at = 0
        while len(buffer) - at >= _HEAD.size:
            kind, _, size = _HEAD.unpack_from(buffer, at)
            if len(buffer) - at < size + 8:
                break
            if kind == 1:
                self._method(buffer, at + 7)
            at += size + 8
        self._buffer = buffer[at:]
        self.news.set()

    def _method(self, buffer: bytes, at: int) -> None:
        class_id, method, tag, multiple = _CONFIRM.unpack_from(buffer, at)
        assert (class_id, method) == _BASIC_ACK, "something else than a confirm"
        self.confirmed = tag if multiple else self.confirmed + 1


async def _greeted(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    where = URL(url)
    reader, writer = await asyncio.open_connection(where.host, where.port)
    writer.write(ProtocolHeader().marshal())

    async def call(frame: object, channel: int = 1) -> None:
        writer.write(marshal(frame, channel))  # type: ignore[arg-type]
        await _read(reader)

    await _read(reader)
    await call(spec.Connection.StartOk(client_properties={}, mechanism="PLAIN", response="\0guest\0guest"), 0)
    writer.write(marshal(spec.Connection.TuneOk(channel_max=10, frame_max=131_072, heartbeat=0), 0))
    await call(spec.Connection.Open(), 0)
    await call(spec.Channel.Open())
    await call(spec.Confirm.Select())
    return reader, writer


async def _read(reader: asyncio.StreamReader) -> None:
    head = await reader.readexactly(7)
    rest = await reader.readexactly(_HEAD.unpack(head)[2] + 1)
    unmarshal(head + rest)


async def publish_raw(url: str, exchange: str, messages: Sequence[Message]) -> Sample:
    """Frames made beforehand by pamqp, written in batches, confirms counted with ``multiple``: the limit."""
    framed = [_framed(message, exchange) for message in messages]
    batches = [b"".join(framed[start : start + _BATCH]) for start in range(0, len(framed), _BATCH)]
    _, writer = await _greeted(url)
    confirms = _Confirms()
    writer.transport.set_protocol(confirms)
    with Stopwatch() as watch:
        for number, batch in enumerate(batches):
            while number * _BATCH - confirms.confirmed > _WINDOW - _BATCH:
                confirms.news.clear()
                await confirms.news.wait()
            writer.transport.write(batch)
        while confirms.confirmed < len(framed):
            confirms.news.clear()
            await confirms.news.wait()
    writer.transport.abort()
    return watch.sample(len(framed))


async def publish_by_aio_pika(url: str, exchange: str, messages: Iterable[Message]) -> Sample:
    """aio-pika with many publishes awaited at once."""
    bodies = list(messages)
    async with await aio_pika.connect(url) as connection, connection.channel(publisher_confirms=True) as channel:
        target = await channel.get_exchange(exchange, ensure=False)
        with Stopwatch() as watch:
            for start in range(0, len(bodies), _WINDOW // 4):
                async with asyncio.TaskGroup() as tasks:
                    for message in bodies[start : start + _WINDOW // 4]:
                        tasks.create_task(_publish(target, message))
    return watch.sample(len(bodies))


async def _publish(exchange: aio_pika.abc.AbstractExchange, message: Message) -> None:
    sent = aio_pika.Message(
        message.body,
        content_type=CONTENT_TYPE,
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        correlation_id=message.correlation_id,
        message_id=message.id,
        timestamp=message.seconds,
        type=message.type,
        app_id=APP_ID,
    )
    await exchange.publish(sent, message.routing_key, mandatory=False)
