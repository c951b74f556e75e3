"""Frames are read as pamqp reads them, however cut; what is no AMQP ends the connection, a message never does."""

import asyncio
from typing import Any

import pytest
from aiormq.connection import FrameReceiver
from aiormq.exceptions import AMQPConnectionError, InvalidFrameError
from hypothesis import given
from hypothesis import strategies as st
from pamqp import commands as spec
from pamqp.body import ContentBody
from pamqp.frame import marshal, unmarshal
from pamqp.header import ContentHeader
from pamqp.heartbeat import Heartbeat

from kamaji_events.broker.connection import connect
from kamaji_events.broker.reading import FrameReader
from tests.broker.test_wire import PROPERTIES, SHORT
from tests.support.rabbit import fresh

NAME = st.from_regex(r"[a-zA-Z0-9-_.:]{0,127}", fullmatch=True)
TAG = st.integers(0, 2**63 - 1)  # as pamqp writes them
FRAMES = st.one_of(
    st.builds(spec.Basic.Deliver, SHORT, TAG, st.booleans(), NAME, SHORT),
    st.builds(spec.Basic.Ack, TAG, st.booleans()),
    st.builds(spec.Basic.Nack, TAG, st.booleans(), st.booleans()),
    st.builds(spec.Channel.Close, st.integers(0, 65_535), SHORT, st.just(0), st.just(0)),
    st.builds(ContentHeader, st.just(0), st.integers(0, 2**63), PROPERTIES),
    st.builds(ContentBody, st.binary(min_size=1, max_size=300)),
    st.just(Heartbeat()),
)


def told(frame: Any) -> Any:
    """All that a frame says."""
    if isinstance(frame, ContentHeader):
        return frame.body_size, told(frame.properties)
    if isinstance(frame, ContentBody):
        return frame.value
    return type(frame), dict(frame) if hasattr(frame, "__iter__") else None


async def read(pieces: list[bytes], count: int) -> list[Any]:
    """So many frames of a stream that comes in pieces and then ends."""
    stream = asyncio.StreamReader()
    reader = FrameReader(stream)

    async def feed() -> None:
        for piece in pieces:
            stream.feed_data(piece)
            await asyncio.sleep(0)
        stream.feed_eof()

    feeding = asyncio.create_task(feed())
    try:
        return [await reader.get_frame() for _ in range(count)]
    finally:
        await feeding


@given(frames=st.lists(st.tuples(st.integers(0, 65_535), FRAMES), max_size=8), cuts=st.lists(st.integers(1, 400)))
def test_frames_are_read_as_pamqp_reads_them(frames: list[tuple[int, Any]], cuts: list[int]) -> None:
    """Every kind of frame, cut at any byte."""
    whole = [marshal(frame, channel if not isinstance(frame, Heartbeat) else 0) for channel, frame in frames]
    rest, pieces = b"".join(whole), []
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    received = asyncio.run(read([piece for piece in [*pieces, rest] if piece], len(whole)))
    expected = [unmarshal(raw) for raw in whole]
    assert [(size, channel, told(frame)) for size, channel, frame in received] == [
        (size, channel, told(frame)) for size, channel, frame in expected
    ]


def _header(properties: bytes) -> bytes:
    payload = b"\0\x3c\0\0" + (5).to_bytes(8, "big") + properties
    return b"\2\0\1" + len(payload).to_bytes(4, "big") + payload + b"\xce"


UNREADABLE = {
    "a timestamp beyond every calendar": b"\0\x40" + b"\xff" * 8,
    "a text that is no UTF-8": b"\x80\0" + b"\2\xff\xfe",
    "a table that is cut": b"\x20\0" + b"\0\0\0\x20\3abc",
    "a header that is cut": b"\x80\0",
    "flags that nobody knows": b"\x80\1\0\0\3abc",
}


@pytest.mark.parametrize("properties", UNREADABLE.values(), ids=UNREADABLE)
async def test_properties_that_cannot_be_read_cost_only_themselves(properties: bytes) -> None:
    """Anybody may publish such a message: it must not end the connection of whoever consumes it, again and again."""
    [(_, _, header), (_, _, body)] = await read([_header(properties), marshal(ContentBody(b"12345"), 1)], 2)
    assert (header.body_size, header.properties, body.value) == (5, spec.Basic.Properties(), b"12345")


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\1\0\1\0\0\0\1x!",
        b"\1\0\1\0\0\0\4\0\x3c\0\x3c\xce",
        b"\1\0\1\0\0\0\2\0\1\xce",
        b"\7\0\1\0\0\0\1x\xce",
    ],
    ids=["another protocol", "no end", "a cut delivery", "a cut method", "an unknown kind"],
)
async def test_what_is_no_amqp_is_refused(raw: bytes) -> None:
    """Nothing that follows can be trusted."""
    with pytest.raises(InvalidFrameError):
        await read([raw], 1)


@pytest.mark.parametrize("raw", [b"", b"\1\0", marshal(ContentBody(b"whole"), 1)[:-1]], ids=["empty", "head", "end"])
async def test_a_stream_that_ends(raw: bytes) -> None:
    """Between two frames or inside one: the connection is lost."""
    with pytest.raises(AMQPConnectionError):
        await read([raw] if raw else [], 1)


async def test_a_wait_that_is_cancelled_loses_nothing() -> None:
    """Half a frame came before the timeout: the next call has it."""
    raw = marshal(ContentBody(b"whole"), 3)
    stream = asyncio.StreamReader()
    reader = FrameReader(stream)
    stream.feed_data(raw[:9])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await reader.get_frame()
    stream.feed_data(raw[9:])
    _, channel, frame = await reader.get_frame()
    assert (channel, frame.value) == (3, b"whole")


@pytest.mark.broker
async def test_an_unreadable_message_of_somebody_else_is_consumed(rabbit: str) -> None:
    """Through a real broker, which passes properties on unread."""
    async with connect(rabbit, name="theirs") as broker, broker.channel() as channel:
        queue = fresh("unreadable")
        await channel.call(spec.Queue.Declare(queue=queue, exclusive=True))
        payload = b"\0\x3c\0\0" + (2).to_bytes(8, "big") + b"\0\x40" + b"\xff" * 8
        channel.send_method(spec.Basic.Publish(exchange="", routing_key=queue))
        channel.send(b"\2" + channel.number.to_bytes(2, "big") + len(payload).to_bytes(4, "big") + payload + b"\xce")
        channel.send(marshal(ContentBody(b"hi"), channel.number))
        async with broker.consume(queue) as consumer:
            incoming = await anext(consumer)
            assert (incoming.body, incoming.properties.timestamp) == (b"hi", None)
            await incoming.ack()
        assert broker.error is None


async def test_the_connection_reads_this_way(rabbit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Aiormq's own receiver reads no frame after the handshake's first."""
    theirs = FrameReceiver.get_frame
    read: list[Any] = []

    async def counting(receiver: FrameReceiver) -> Any:
        received = await theirs(receiver)
        read.append(received[2])
        return received

    monkeypatch.setattr(FrameReceiver, "get_frame", counting)
    async with connect(rabbit, name="test") as broker, broker.channel():
        assert [type(frame) for frame in read] == [spec.Connection.Start]
