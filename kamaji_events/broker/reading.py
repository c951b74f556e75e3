"""Frames as they come from the broker: read in large pieces, those of deliveries and confirms decoded here.

aiormq reads a frame in three awaits and pamqp decodes it field by field, which took a sixth of a delivery. All but
the frequent frames still go to pamqp. Unlike there, a message whose properties cannot be decoded (anybody may
publish one) costs its properties, never the connection.

Source: the specification AMQP 0-9-1, sections 4.2.3 to 4.2.6.
"""

import asyncio
import logging
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from aiormq.exceptions import AMQPConnectionError, InvalidFrameError
from pamqp import commands as spec
from pamqp import decode
from pamqp.body import ContentBody
from pamqp.exceptions import PAMQPException
from pamqp.frame import unmarshal
from pamqp.header import ContentHeader

__all__ = ["FrameReader"]

_log = logging.getLogger(__name__)

_PIECE = 256 * 1024
_MOST = 16 * 1024 * 1024
"""Bytes of one frame at most; RabbitMQ's are 128 KB unless it is configured otherwise."""
_START = struct.Struct(">BHI")
_CONTENT = struct.Struct(">HHQH")
_TAG = struct.Struct(">QB")
_SECONDS = struct.Struct(">Q")
_METHOD, _HEADER, _BODY, _END = 1, 2, 3, 0xCE
_BEFORE, _AROUND = 7, 8
_DELIVER, _ACK = b"\0\x3c\0\x3c", b"\0\x3c\0\x50"
_LATEST = 0xFFFF_FFFF
"""Greater timestamps are milliseconds, as pamqp takes them."""

Received = tuple[int, int, Any]
"""Bytes, channel and frame, as aiormq's reader takes them."""


class FrameReader:
    """Gives frame after frame of a stream; stands in for ``get_frame`` of aiormq's ``FrameReceiver``.

    Args:
        stream: read by nobody else; cancelling ``get_frame`` loses nothing of it.
    """

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._data = b""
        self._at = 0

    async def get_frame(self) -> Received:
        """The next frame.

        Raises:
            AMQPConnectionError: the connection ended or broke.
            InvalidFrameError: what came is no AMQP.
        """
        while (received := self._next()) is None:
            await self._more()
        return received

    async def _more(self) -> None:
        try:
            piece = await self._stream.read(_PIECE)
        except OSError as error:
            raise AMQPConnectionError(f"the connection broke: {error}") from error
        if not piece:
            raise AMQPConnectionError("the connection was closed by RabbitMQ")
        self._data = self._data[self._at :] + piece
        self._at = 0

    def _next(self) -> Received | None:
        data, at = self._data, self._at
        if len(data) - at < _AROUND:
            return None
        kind, channel, size = _START.unpack_from(data, at)
        if size > _MOST:
            raise InvalidFrameError(f"a frame of {size} bytes")
        end = at + _BEFORE + size
        if len(data) <= end:
            return None
        if data[end] != _END:
            raise InvalidFrameError("a frame without its end")
        self._at = end + 1
        return size + _AROUND, channel, _frame(kind, data, at, end)


def _frame(kind: int, data: bytes, start: int, end: int) -> Any:
    at = start + _BEFORE
    if kind == _BODY:
        return ContentBody(data[at:end])
    try:
        if kind == _HEADER:
            return _header(data[at:end])
        if kind == _METHOD:
            head = data[at : at + 4]
            if head == _DELIVER:
                return _deliver(data, at + 4)
            if head == _ACK:
                tag, multiple = _TAG.unpack_from(data, at + 4)
                return spec.Basic.Ack(tag, bool(multiple))
        return unmarshal(data[start : end + 1])[2]
    except (PAMQPException, ValueError, struct.error, IndexError) as error:
        raise InvalidFrameError(f"a frame cannot be decoded: {error}") from error


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    return data[at + 1 : end].decode(errors="replace"), end


def _deliver(data: bytes, at: int) -> spec.Basic.Deliver:
    method = spec.Basic.Deliver()
    method.consumer_tag, at = _text(data, at)
    method.delivery_tag, redelivered = _TAG.unpack_from(data, at)
    method.redelivered = bool(redelivered & 1)
    method.exchange, at = _text(data, at + 9)
    method.routing_key, _ = _text(data, at)
    return method


def _header(data: bytes) -> ContentHeader:
    _, _, size, flags = _CONTENT.unpack_from(data)
    properties = spec.Basic.Properties()
    try:
        at = _CONTENT.size
        for name, read in _set(flags):
            value, at = read(data, at)
            setattr(properties, name, value)
    except (ValueError, OverflowError, OSError, struct.error, IndexError) as error:
        _log.warning("the properties of a message cannot be decoded, it is taken without them: %s", error)
        properties = spec.Basic.Properties()
    return ContentHeader(0, size, properties)


def _octet(data: bytes, at: int) -> tuple[int, int]:
    return data[at], at + 1


def _strict(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    return data[at + 1 : end].decode(), end


def _timestamp(data: bytes, at: int) -> tuple[datetime, int]:
    (seconds,) = _SECONDS.unpack_from(data, at)
    return datetime.fromtimestamp(seconds if seconds <= _LATEST else seconds / 1000, UTC), at + 8


def _table(data: bytes, at: int) -> tuple[Any, int]:
    size, table = decode.field_table(data[at:])
    return table, at + size


_Read = Callable[[bytes, int], tuple[Any, int]]

_READERS: tuple[tuple[int, str, _Read], ...] = (
    (1 << 15, "content_type", _strict),
    (1 << 14, "content_encoding", _strict),
    (1 << 13, "headers", _table),
    (1 << 12, "delivery_mode", _octet),
    (1 << 11, "priority", _octet),
    (1 << 10, "correlation_id", _strict),
    (1 << 9, "reply_to", _strict),
    (1 << 8, "expiration", _strict),
    (1 << 7, "message_id", _strict),
    (1 << 6, "timestamp", _timestamp),
    (1 << 5, "message_type", _strict),
    (1 << 4, "user_id", _strict),
    (1 << 3, "app_id", _strict),
    (1 << 2, "cluster_id", _strict),
)


@lru_cache(64)
def _set(flags: int) -> tuple[tuple[str, _Read], ...]:
    """The properties that are there, in their order."""
    if flags & 3:
        raise ValueError(f"property flags {flags:#06x} that AMQP 0-9-1 does not know")
    return tuple((name, read) for flag, name, read in _READERS if flags & flag)
