"""One AMQP channel on a connection that aiormq keeps.

aiormq's own channel makes a task and several futures for every message. This one is given the frames as they come,
counts nothing that nobody asked for, and writes what was sent in one turn of the loop in one piece. It uses only
public names of aiormq (``channels``, ``connection_tune``, the writer from a transport factory);
``tests/broker/test_wire.py`` fails when one of them vanishes.
"""

import asyncio
import logging
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, cast

from pamqp import commands as spec
from pamqp.base import Frame
from pamqp.body import ContentBody
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from kamaji_events.broker.mapping import from_close
from kamaji_events.errors import BrokerError, BrokerUnavailable

if TYPE_CHECKING:
    from aiormq.abc import AbstractChannel
    from aiormq.connection import Connection

__all__ = ["Channel", "Content", "Delivery"]

_log = logging.getLogger(__name__)

_FRAME_OVERHEAD = 8
"""Seven bytes before a frame's payload and one behind it."""

_ACK = struct.Struct(">BHIHHQBB")
"""A whole basic.ack frame: type, channel, size 13, class 60, method 80, tag, multiple, end."""

_CLOSE = spec.Channel.Close(reply_code=200, reply_text="", class_id=0, method_id=0)

_CONTENT = (spec.Basic.Deliver, spec.Basic.Return, spec.Basic.GetOk)


class Content(NamedTuple):
    """A message as it came: the method that carried it, its properties and its body."""

    method: Any
    properties: spec.Basic.Properties
    body: bytes


Delivery = Callable[[Content], None]


class Listener(Protocol):
    """Who is told when a channel is lost."""

    def lost(self, error: BrokerError) -> None:
        """Called once; nothing more comes from the channel."""


class _Frames:
    """What aiormq's reader takes for a channel's queue of frames."""

    __slots__ = ("_receive",)

    def __init__(self, receive: Callable[[Any], None]) -> None:
        self._receive = receive

    async def put(self, item: tuple[int, Any]) -> None:
        self._receive(item[1])


class Channel:
    """A channel; made by ``Broker.channel()``, opened and closed by ``async with``.

    Attributes:
        on_confirm: called with (delivery tag, multiple, acknowledged) for each confirm.
        on_return: called with each message that came back as unroutable.
        consumers: consumer tag to what takes its deliveries.
    """

    def __init__(
        self,
        connection: "Connection",
        writer: asyncio.StreamWriter,
        number: int,
        *,
        timeout: float,
        on_close: Callable[["Channel"], None],
    ) -> None:
        self.number = number
        self.frames = _Frames(self._receive)
        self.consumers: dict[str, Delivery] = {}
        self.on_confirm: Callable[[int, bool, bool], None] | None = None
        self.on_return: Delivery | None = None
        self.error: BrokerError | None = None
        self._connection = connection
        self._writer = writer
        self._timeout = timeout
        self._on_close = on_close
        self._listeners: list[Listener] = []
        self._replies: deque[asyncio.Future[Any]] = deque()
        self._out: list[bytes] = []
        self._content: Any = None
        self._header: ContentHeader | None = None
        self._parts: list[bytes] = []
        self._missing = 0
        self._at_broker = False
        self._loop = asyncio.get_running_loop()

    @property
    def body_max(self) -> int:
        """Bytes of a message's body that fit into one frame."""
        negotiated = self._connection.connection_tune.frame_max or 131_072
        return negotiated - _FRAME_OVERHEAD

    def listen(self, listener: Listener) -> None:
        """Tell this one, too, when the channel is lost; at once if it is."""
        self._listeners.append(listener)
        if self.error is not None:
            listener.lost(self.error)

    def check(self) -> None:
        """Raise what the channel was lost by, if it was."""
        if self.error is not None:
            raise type(self.error)(*self.error.args) from self.error

    async def __aenter__(self) -> Self:
        self._connection.channels[self.number] = cast("AbstractChannel", self)
        self._at_broker = True
        try:
            await self.call(spec.Channel.Open(), timeout=self._timeout)
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close it at the broker, which returns everything unacknowledged to its queues.

        That it or its connection is lost meanwhile is no error: it has been told to whoever used it.
        """
        try:
            if self._at_broker:
                with suppress(BrokerError):
                    await self._ask(_CLOSE, self._timeout)
        finally:
            self.lose(BrokerUnavailable("the channel was closed here"))
            self._on_close(self)

    async def call(self, method: Frame, *, timeout: float = 30.0) -> Any:  # noqa: ASYNC109
        """Send a method and wait for its reply.

        Raises:
            BrokerError: the channel or connection was closed over it, or nothing came within ``timeout`` seconds.
        """
        self.check()
        return await self._ask(method, timeout)

    async def _ask(self, method: Frame, seconds: float) -> Any:
        reply: asyncio.Future[Any] = self._loop.create_future()
        self._replies.append(reply)
        self.send_method(method)
        try:
            async with asyncio.timeout(seconds):
                return await reply
        except TimeoutError as error:
            raise BrokerUnavailable(f"RabbitMQ did not answer {method.name} within {seconds:g} s") from error

    def send(self, data: bytes) -> None:
        """Write whole frames at the end of this turn of the event loop, together with what else is sent in it."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def send_method(self, method: Frame) -> None:
        """Send a method that has no reply."""
        self.send(marshal(method, self.number))

    def ack(self, tag: int, *, multiple: bool = False) -> None:
        """Acknowledge a delivery, for ``multiple`` all before it, too; raises when the channel is lost."""
        self.check()
        self.send(_ACK.pack(1, self.number, 13, 60, 80, tag, multiple, 0xCE))

    def _flush(self) -> None:
        out, self._out = self._out, []
        if out and self._at_broker and not self._writer.is_closing():
            self._writer.write(b"".join(out))

    def lose(self, error: BrokerError, *, at_broker: bool = False) -> None:
        """Mark it lost: waiting calls and listeners get the error, nothing more is sent.

        Args:
            error: why.
            at_broker: it is still open there, and has to be closed.
        """
        self._at_broker = self._at_broker and at_broker
        while self._replies:
            reply = self._replies.popleft()
            if not reply.done():
                reply.set_exception(error)
        if self.error is None:
            self.error = error
            self._out.clear()
            self.consumers.clear()
            for listener in self._listeners:
                listener.lost(error)

    def _receive(self, frame: Any) -> None:
        """Take one frame; called by the connection's reader, which an exception here would end."""
        try:
            self._dispatch(frame)
        except Exception as error:  # noqa: BLE001 - the reader serves every channel: a fault here costs only this one
            _log.exception("a frame could not be handled; the channel is given up")
            self.lose(BrokerUnavailable(f"a frame could not be handled: {error!r}"), at_broker=True)

    def _dispatch(self, frame: Any) -> None:
        match frame:
            case ContentBody():
                self._body(frame.value)
            case ContentHeader():
                self._begin(frame)
            case spec.Basic.Ack():
                self._confirm(frame, acknowledged=True)
            case spec.Basic.Nack():
                self._confirm(frame, acknowledged=False)
            case spec.Basic.Cancel():
                self._cancelled(frame)
            case spec.Channel.Close():
                self._closed(frame)
            case spec.Channel.Flow():
                self.send_method(spec.Channel.FlowOk(active=bool(frame.active)))
            case _ if isinstance(frame, _CONTENT):
                self._content = frame
            case _:
                self._reply(frame)

    def _begin(self, header: ContentHeader) -> None:
        self._header, self._parts, self._missing = header, [], header.body_size
        if not header.body_size:
            self._complete()

    def _body(self, part: bytes) -> None:
        self._parts.append(part)
        self._missing -= len(part)
        if self._missing <= 0:
            self._complete()

    def _complete(self) -> None:
        method, header = self._content, self._header
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._content, self._header, self._parts = None, None, []
        properties = header.properties if header is not None else spec.Basic.Properties()
        content = Content(method, properties, body)
        match method:
            case spec.Basic.Deliver():
                take = self.consumers.get(method.consumer_tag or "")
                if take is not None:
                    take(content)
            case spec.Basic.GetOk():
                self._reply(content)
            case spec.Basic.Return() if self.on_return is not None:
                self.on_return(content)

    def _confirm(self, frame: Any, *, acknowledged: bool) -> None:
        if self.on_confirm is not None:
            self.on_confirm(frame.delivery_tag, bool(frame.multiple), acknowledged)

    def _reply(self, reply: Any) -> None:
        if not self._replies:
            _log.warning("RabbitMQ sent %s which nobody asked for", type(reply).__name__)
            return
        waiting = self._replies.popleft()
        if not waiting.done():  # its caller was cancelled or gave up
            waiting.set_result(reply)

    def _cancelled(self, frame: spec.Basic.Cancel) -> None:
        """The broker ended a consumer on a channel that stays open: its queue was deleted, or (4.3) a timeout."""
        if self._connection.accept_consumer_cancel_ok:
            self._writer.write(marshal(spec.Basic.CancelOk(consumer_tag=frame.consumer_tag), self.number))
        reason = "RabbitMQ cancelled the consumer: its queue was deleted or moved, or an acknowledgement came too late"
        self.lose(BrokerUnavailable(reason), at_broker=True)

    def _closed(self, frame: spec.Channel.Close) -> None:
        self.lose(from_close(frame.reply_code, frame.reply_text))
        if not self._writer.is_closing():
            self._writer.write(marshal(spec.Channel.CloseOk(), self.number))
