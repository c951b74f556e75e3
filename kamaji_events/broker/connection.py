"""The connection: opened once, never mended behind its owner's back.

A robust connection hides a loss, and a loss ends leadership, returns what was prefetched and makes confirms
unknowable: whoever owns the connection has to know. So losing it is an error, told to every channel at once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, cast

from aiormq.connection import (
    Connection,
    FrameReceiver,
    SSLContextProvider,
    TCPTransportFactory,
    TLSTransportFactory,
    TransportFactory,
)
from aiormq.exceptions import ConnectionClosed, InvalidFrameError
from pamqp import commands as spec
from pamqp.base import Frame
from yarl import URL

from kamaji_events.broker.channel import Channel
from kamaji_events.broker.consume import Consumer
from kamaji_events.broker.mapping import LIBRARY_ERRORS, from_library
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.reading import FrameReader
from kamaji_events.errors import BrokerError, BrokerUnavailable, SettingsError

__all__ = ["Broker", "connect"]

_log = logging.getLogger(__name__)

_PORTS = {"amqp": 5672, "amqps": 5671}
_CLOSE_SECONDS = 5.0
_DEFAULT_CHANNELS = 2047


class _Transport(TransportFactory):
    """Opens the socket as aiormq does and keeps its writer, so that frames can be written in batches."""

    def __init__(self) -> None:
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self, connection: Connection) -> None:
        """Open it before aiormq asks for it, which would log every refused try as an error."""
        factory = TLSTransportFactory() if connection.url.scheme == "amqps" else TCPTransportFactory()
        provider = SSLContextProvider(ssl_context=None, ssl_certs=connection.ssl_certs, loop=connection.loop)
        self._streams = await factory.create(connection.url, ssl_context_provider=provider)

    async def create(self, url: URL, **kwargs: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:  # noqa: ARG002
        """Give it to aiormq."""
        if self._streams is None:
            raise BrokerUnavailable("the connection was not opened")
        return self._streams

    @property
    def writer(self) -> asyncio.StreamWriter | None:
        """Where frames are written; None before it is open."""
        return self._streams[1] if self._streams is not None else None


class _Remembering:
    """A frame receiver that knows the last frame it gave; from the first on the receiver itself reads as we do."""

    def __init__(self, receiver: FrameReceiver) -> None:
        self._receiver = receiver
        self.frame: Any = None
        if "get_frame" not in vars(receiver):
            receiver.get_frame = FrameReader(receiver.reader).get_frame  # type: ignore[method-assign]

    async def get_frame(self) -> Any:
        received = await self._receiver.get_frame()
        self.frame = received[2]
        return received


class _Connection(Connection):
    """aiormq's connection, which also says why the broker refused: a vhost that does not exist, for one."""

    @staticmethod
    async def _rpc(
        request: Frame,
        writer: asyncio.StreamWriter,
        frame_receiver: FrameReceiver,
        wait_response: bool = True,  # noqa: FBT001,FBT002 - aiormq's signature
    ) -> Any:
        receiver = _Remembering(frame_receiver)
        try:
            return await Connection._rpc(request, writer, cast("FrameReceiver", receiver), wait_response)  # noqa: SLF001
        except InvalidFrameError as error:
            if not isinstance(receiver.frame, spec.Connection.Close):
                raise
            raise ConnectionClosed(receiver.frame.reply_code, receiver.frame.reply_text) from error


def _parse(url: str) -> URL:
    """Read the URL; its text is never repeated in an error, since it holds the password."""
    try:
        parsed = URL(url)
        known = parsed.scheme in _PORTS and bool(parsed.host) and parsed.port != 0
    except ValueError:
        known = False
    if not known:
        raise SettingsError("the AMQP URL cannot be read: write amqp://user:password@host:5672/vhost (AMQP_URL)")
    return parsed if parsed.port else parsed.with_port(_PORTS[parsed.scheme])


class Broker:
    """One connection to RabbitMQ; use it with ``async with connect(...)``."""

    def __init__(self, url: URL, *, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        self._transport = _Transport()
        self._connection: Connection | None = None
        self._channels: set[Channel] = set()
        self._lost: asyncio.Future[BrokerError] | None = None
        self._closing = False

    @property
    def where(self) -> str:
        """``host:port/vhost``: what an error or a log line may say of the URL."""
        return f"{self._url.host}:{self._url.port}{self._url.path if len(self._url.path) > 1 else '/'}"

    async def __aenter__(self) -> Self:
        connection = _Connection(
            self._url, transport_factory=self._transport, client_properties={"product": "kamaji-events"}
        )
        try:
            async with asyncio.timeout(self._timeout):
                await self._transport.open(connection)
                await connection.connect()
        except LIBRARY_ERRORS as error:
            self._abort()
            raise from_library(error, where=self.where) from error
        except BaseException:
            self._abort()
            raise
        self._connection = connection
        self._lost = asyncio.get_running_loop().create_future()
        connection.closing.add_done_callback(self._on_closing)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._lose(BrokerUnavailable("the connection was closed here"))
        if self._connection is None:
            return
        with contextlib.suppress(*LIBRARY_ERRORS):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._connection.close(None)
        self._abort()

    def _abort(self) -> None:
        """Let go of the socket at once, also when the peer no longer answers."""
        if self._transport.writer is not None:
            self._transport.writer.transport.abort()

    def _on_closing(self, closing: "asyncio.Future[Any]") -> None:
        reason: BaseException | None = None
        if closing.cancelled():
            reason = asyncio.CancelledError()
        elif (reason := closing.exception()) is None:
            reason = BrokerUnavailable(f"RabbitMQ at {self.where}: the connection ended")
        self._lose(from_library(reason, where=self.where))

    def _lose(self, error: BrokerError) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(error)
            if not self._closing:  # whoever owns it says what follows, with this reason
                _log.info("the connection to RabbitMQ is lost: %s", error)
        for channel in list(self._channels):
            channel.lose(error)
        self._channels.clear()

    @property
    def error(self) -> BrokerError | None:
        """What the connection was lost by, None while it lives."""
        return self._lost.result() if self._lost is not None and self._lost.done() else None

    async def lost(self) -> BrokerError:
        """Wait until the connection is lost, and say by what."""
        if self._lost is None:
            raise BrokerUnavailable("the connection was not opened")
        return await asyncio.shield(self._lost)

    @property
    def blocked(self) -> bool:
        """True while RabbitMQ holds publishers up (``connection.blocked``: a memory or disk alarm).

        A blocked connection stalls whole once something was published on it: confirms and calls wait until the
        alarm is over. Connections that only consume are not blocked.
        """
        if self._connection is None or self.error is not None:
            return False
        ready = self._connection.ready()  # ends at once unless blocked: stepping it asks without waiting
        try:
            ready.send(None)
        except StopIteration:
            return False
        ready.close()
        return True

    async def unblocked(self) -> None:
        """Wait until RabbitMQ takes messages again; returns at once when it does."""
        if self._connection is not None:
            await self._connection.ready()

    @property
    def properties(self) -> Mapping[str, Any]:
        """What the broker says of itself: ``product``, ``version``, ``cluster_name``, ``capabilities``."""
        return dict(self._connection.server_properties) if self._connection is not None else {}

    def _number(self) -> int:
        """The lowest free channel number; aiormq would count beyond what the broker allows."""
        taken = {*self._open().channels, *(channel.number for channel in self._channels)}
        most = self._open().connection_tune.channel_max or _DEFAULT_CHANNELS
        for number in range(1, most + 1):
            if number not in taken:
                return number
        raise BrokerError(f"all {most} channels of the connection are in use")

    def _open(self) -> Connection:
        if self._connection is None or self.error is not None:
            raise self.error or BrokerUnavailable("the connection was not opened")
        return self._connection

    def another(self, name: str) -> "Broker":
        """A second connection to the same place, to be opened by ``async with``: for what may end a connection."""
        return Broker(self._url.update_query(name=name), timeout=self._timeout)

    def channel(self) -> Channel:
        """A channel of one's own, to be opened by ``async with``."""
        connection, writer = self._open(), self._transport.writer
        if writer is None:  # the transport is there when the connection is
            raise BrokerUnavailable("the connection was not opened")
        channel = Channel(connection, writer, self._number(), timeout=self._timeout, on_close=self._channels.discard)
        self._channels.add(channel)
        return channel

    def publisher(
        self, *, max_in_flight: int = 1000, timeout: float = 30.0, patient: bool = False
    ) -> ConfirmingPublisher:
        """A publisher with confirms on a channel of its own, to be opened by ``async with``.

        Args:
            max_in_flight: messages unconfirmed at once.
            timeout: seconds without any confirm.
            patient: wait an alarm out, however long it takes.
        """
        return ConfirmingPublisher(
            self.channel(),
            max_in_flight=max_in_flight,
            timeout=timeout,
            held_up=(lambda: self.blocked) if patient else (lambda: False),
            owns=True,
        )

    def consume(
        self, queue: str, prefetch: int = 100, *, arguments: Mapping[str, Any] | None = None, exclusive: bool = False
    ) -> Consumer:
        """A consumer on a channel of its own, to be opened by ``async with``.

        Args:
            queue: its name.
            prefetch: messages that may be unacknowledged at once.
            arguments: for a stream ``{"x-stream-offset": ...}``.
            exclusive: refuse to share the queue.
        """
        return Consumer(self.channel(), queue, prefetch=prefetch, arguments=arguments, exclusive=exclusive, owns=True)


def connect(
    url: str,
    *,
    name: str,
    heartbeat: int = 15,
    timeout: float = 10.0,
) -> Broker:
    """A connection to RabbitMQ, opened by ``async with``.

    Args:
        url: ``amqp://user:password@host:port/vhost`` or ``amqps://...``; of its query ``cafile``, ``certfile``,
            ``keyfile`` and ``no_verify_ssl=1`` are used.
        name: what RabbitMQ's connection list shows.
        heartbeat: seconds; a silent peer is given up after three of them.
        timeout: seconds for connecting, and for opening a channel.

    Raises:
        SettingsError: the URL cannot be read.
        BrokerUnavailable: refused, cut, name unknown, no answer: trying again can help.
        BrokerRefused: wrong credentials, unknown vhost, untrusted certificate.
    """
    return Broker(_parse(url).update_query(heartbeat=heartbeat, name=name), timeout=timeout)
