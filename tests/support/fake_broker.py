"""An AMQP server in memory, for tests that need no RabbitMQ.

It stands below the project's own channel: frames go in and come out, so connection loss, confirms, topology,
publishers and consumers are the real code. What RabbitMQ does with them is imitated as far as this project uses it:
topic, direct and fanout exchanges with alternates, quorum queues with a delivery limit, dead letters, TTL (by the
loop's clock), single active consumers, streams by offset. tests/broker/test_behaviour.py holds it to the real one.
It keeps nothing on disk, knows no permissions, and never loses a message by itself.
"""

import asyncio
from types import TracebackType
from typing import Any, Self, cast

from pamqp import commands as spec
from pamqp.body import ContentBody
from pamqp.frame import unmarshal
from pamqp.header import ContentHeader
from yarl import URL

from kamaji_events.broker.connection import Broker
from kamaji_events.errors import BrokerUnavailable
from tests.support.fake_routing import CloseError, Consumer, Exchange, Message, Queue, Routing, with_header

__all__ = ["FakeRabbit"]


class FakeRabbit(Routing):
    """The server; ``async with fake.connect() as broker`` is a connection to it."""

    def __init__(self) -> None:
        super().__init__()
        self.connections: list[_Connection] = []

    def connect(self) -> Broker:
        """A connection, like ``kamaji_events.broker.connection.connect``."""
        return _FakeBroker(self)

    def cut(self) -> None:
        """Lose every connection at once."""
        for connection in list(self.connections):
            connection.lose()


class _Session:
    """The server's side of a channel."""

    def __init__(self, connection: "_Connection", number: int) -> None:
        self._connection = connection
        self._rabbit = connection.rabbit
        self._number = number
        self.prefetch = 0
        self.unacked: dict[int, tuple[Consumer | None, Queue, Message]] = {}
        self._tag = 0
        self._confirms: int | None = None
        self._method: Any = None
        self._header: ContentHeader | None = None
        self._body = b""
        self._closed = False

    def answer(self, frame: Any) -> None:
        """Send a frame to the client."""
        channel = self._connection.channels.get(self._number)
        if channel is not None:
            channel._receive(frame)

    def deliver(self, consumer: Consumer, message: Message) -> None:
        """Send a message to a consumer."""
        self._tag += 1
        self.unacked[self._tag] = (consumer, consumer.queue, message)
        method = spec.Basic.Deliver(
            consumer_tag=consumer.tag,
            delivery_tag=self._tag,
            redelivered=message.returns > 0,
            exchange=message.exchange,
            routing_key=message.key,
        )
        self._content(method, message)

    def _content(self, method: Any, message: Message) -> None:
        properties = message.properties
        if message.offset is not None:
            properties = with_header(properties, "x-stream-offset", message.offset)
        self.answer(method)
        self.answer(ContentHeader(properties=properties, body_size=len(message.body)))
        if message.body:
            self.answer(ContentBody(message.body))

    def take(self, frame: Any) -> None:
        """Handle a frame from the client."""
        if self._closed:
            return
        try:
            self._handle(frame)
        except CloseError as error:
            self.end()
            self.answer(spec.Channel.Close(reply_code=error.code, reply_text=str(error), class_id=0, method_id=0))

    def _handle(self, frame: Any) -> None:
        match frame:
            case spec.Basic.Publish():
                self._method, self._body = frame, b""
            case ContentHeader():
                self._header = frame
                self._published_if_complete()
            case ContentBody():
                self._body += frame.value
                self._published_if_complete()
            case spec.Basic.Ack() | spec.Basic.Nack() | spec.Basic.Reject():
                self._settle(frame)
            case spec.Channel.CloseOk():
                pass
            case _:
                self._call(frame)

    def _published_if_complete(self) -> None:
        if self._header is None or len(self._body) < self._header.body_size:
            return
        method, header, self._header = self._method, self._header, None
        message = Message(method.exchange, method.routing_key, header.properties, self._body)
        routed, accepted = self._rabbit.publish(message)
        if not routed and method.mandatory:
            returned = spec.Basic.Return(
                reply_code=312, reply_text="NO_ROUTE", exchange=message.exchange, routing_key=message.key
            )
            self._content(returned, message)
        if self._confirms is not None:
            self._confirms += 1
            kind = spec.Basic.Ack if accepted else spec.Basic.Nack
            self.answer(kind(delivery_tag=self._confirms, multiple=False))

    def _settle(self, frame: Any) -> None:
        tags = [frame.delivery_tag]
        if getattr(frame, "multiple", False):
            tags = [tag for tag in self.unacked if tag <= frame.delivery_tag]
        if not tags or any(tag not in self.unacked for tag in tags):
            raise CloseError(406, f"PRECONDITION_FAILED - unknown delivery tag {frame.delivery_tag}")
        settled = [self.unacked.pop(tag) for tag in tags]
        for queue in {id(each[1]): each[1] for each in settled}.values():
            messages = [message for _, its, message in settled if its is queue and not queue.stream]
            if not isinstance(frame, spec.Basic.Ack):
                self._give_back(queue, messages, requeue=bool(frame.requeue))
            self._rabbit.feed(queue)

    def _give_back(self, queue: Queue, messages: list[Message], *, requeue: bool) -> None:
        if requeue:
            self._rabbit.requeue(queue, messages)
        else:
            for message in messages:
                self._rabbit.dead(queue, message, "rejected")

    def end(self) -> None:
        """The channel ends: consumers go, what they hold goes back."""
        self._closed = True
        for queue in self._rabbit.queues.values():
            queue.consumers = [each for each in queue.consumers if each.session is not self]
        held, self.unacked = self.unacked, {}
        for queue in {id(each[1]): each[1] for each in held.values()}.values():
            self._rabbit.requeue(queue, [m for _, its, m in held.values() if its is queue and not queue.stream])
        for queue in self._rabbit.queues.values():
            self._rabbit.feed(queue)

    def _call(self, frame: Any) -> None:
        name = frame.name.lower().replace(".", "_")
        self.answer(getattr(self, f"_{name}")(frame))
        if isinstance(frame, spec.Basic.Consume):
            self._rabbit.feed(self._queue(frame.queue))

    def _queue(self, name: str) -> Queue:
        queue = self._rabbit.queues.get(name)
        if queue is None:
            raise CloseError(404, f"NOT_FOUND - no queue '{name}' in vhost '/'")
        if queue.owner is not None and queue.owner is not self._connection:
            raise CloseError(405, f"RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '{name}'")
        return queue

    def _channel_open(self, _: Any) -> Any:
        return spec.Channel.OpenOk()

    def _channel_close(self, _: Any) -> Any:
        self.end()
        self._connection.sessions.pop(self._number, None)
        self._connection.closed(self._number)
        return spec.Channel.CloseOk()

    def _confirm_select(self, _: Any) -> Any:
        self._confirms = 0
        return spec.Confirm.SelectOk()

    def _basic_qos(self, frame: Any) -> Any:
        self.prefetch = frame.prefetch_count
        return spec.Basic.QosOk()

    def _basic_consume(self, frame: Any) -> Any:
        queue = self._queue(frame.queue)
        position = None
        if queue.stream:
            offset = (frame.arguments or {}).get("x-stream-offset", "next")
            ends = {"next": len(queue.log), "last": max(0, len(queue.log) - 1)}
            position = offset if isinstance(offset, int) else ends.get(offset, 0)
        queue.consumers.append(Consumer(self, frame.consumer_tag, queue, position))
        return spec.Basic.ConsumeOk(consumer_tag=frame.consumer_tag)

    def _basic_cancel(self, frame: Any) -> Any:
        for queue in self._rabbit.queues.values():
            mine = [each for each in queue.consumers if (each.session, each.tag) == (self, frame.consumer_tag)]
            queue.consumers = [each for each in queue.consumers if each not in mine]
            if mine:
                self._rabbit.feed(queue)
        return spec.Basic.CancelOk(consumer_tag=frame.consumer_tag)

    def _exchange_declare(self, frame: Any) -> Any:
        found = self._rabbit.exchanges.get(frame.exchange)
        if found is None and frame.passive:
            raise CloseError(404, f"NOT_FOUND - no exchange '{frame.exchange}' in vhost '/'")
        if found is None:
            made = Exchange(frame.exchange_type, dict(frame.arguments or {}), auto_delete=frame.auto_delete)
            self._rabbit.exchanges[frame.exchange] = made
        elif not frame.passive and (found.type, found.arguments) != (frame.exchange_type, frame.arguments or {}):
            raise CloseError(406, f"PRECONDITION_FAILED - inequivalent arg for exchange '{frame.exchange}'")
        return spec.Exchange.DeclareOk()

    def _exchange_delete(self, frame: Any) -> Any:
        self._rabbit.delete_exchange(frame.exchange)
        return spec.Exchange.DeleteOk()

    def _exchange_bind(self, frame: Any) -> Any:
        for name in (frame.source, frame.destination):
            if name not in self._rabbit.exchanges:
                raise CloseError(404, f"NOT_FOUND - no exchange '{name}' in vhost '/'")
        self._rabbit.exchanges[frame.source].feeds.add(frame.destination)
        return spec.Exchange.BindOk()

    def _queue_declare(self, frame: Any) -> Any:
        if frame.queue not in self._rabbit.queues and not frame.passive:
            owner = self._connection if frame.exclusive else None
            self._rabbit.queues[frame.queue] = Queue(frame.queue, dict(frame.arguments or {}), owner)
        queue = self._queue(frame.queue)
        if not frame.passive and queue.arguments != (frame.arguments or {}):
            raise CloseError(406, f"PRECONDITION_FAILED - inequivalent arg for queue '{frame.queue}'")
        count = len(queue.log) if queue.stream else len(queue.ready)
        return spec.Queue.DeclareOk(queue=frame.queue, message_count=count, consumer_count=len(queue.consumers))

    def _queue_delete(self, frame: Any) -> Any:
        self._rabbit.delete(frame.queue)
        return spec.Queue.DeleteOk(message_count=0)

    def _queue_bind(self, frame: Any) -> Any:
        self._queue(frame.queue)
        exchange = self._rabbit.exchanges.get(frame.exchange)
        if exchange is None:
            raise CloseError(404, f"NOT_FOUND - no exchange '{frame.exchange}' in vhost '/'")
        exchange.bindings[frame.routing_key, frame.queue] = None
        return spec.Queue.BindOk()

    def _queue_unbind(self, frame: Any) -> Any:
        exchange = self._rabbit.exchanges.get(frame.exchange)
        if exchange is not None:
            exchange.bindings.pop((frame.routing_key, frame.queue), None)
        return spec.Queue.UnbindOk()


class _Connection:
    """What the project's channel needs of aiormq's connection."""

    accept_consumer_cancel_ok = False

    def __init__(self, rabbit: FakeRabbit) -> None:
        self.rabbit = rabbit
        self.channels: dict[int, Any] = {}
        self.sessions: dict[int, _Session] = {}
        self.connection_tune = spec.Connection.Tune(channel_max=2047, frame_max=131_072)
        self.server_properties = {"product": "FakeRabbit", "version": "0"}
        self.closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def ready(self) -> None:
        """Never blocked."""

    async def close(self, exc: BaseException | None) -> None:
        """The client leaves."""
        self._end()
        if not self.closing.done():
            self.closing.set_result(exc if exc is None else None)

    def lose(self) -> None:
        """The connection is cut."""
        self._end()
        if not self.closing.done():
            self.closing.set_exception(BrokerUnavailable("cut"))

    def _end(self) -> None:
        if self not in self.rabbit.connections:
            return
        self.rabbit.connections.remove(self)
        for session in list(self.sessions.values()):
            session.end()
        for queue in [queue for queue in self.rabbit.queues.values() if queue.owner is self]:
            self.rabbit.delete(queue.name)

    def closed(self, number: int) -> None:
        """A channel's number is free once its close has been answered."""
        asyncio.get_running_loop().call_soon(self.channels.pop, number, None)

    def is_closing(self) -> bool:
        """The writer's part: whether nothing can be written."""
        return self not in self.rabbit.connections

    def write(self, data: bytes) -> None:
        """The writer's part: frames from the client."""
        while data and not self.is_closing():
            consumed, number, frame = unmarshal(data)
            data = data[consumed:]
            session = self.sessions.get(number)
            if session is None:
                session = self.sessions[number] = _Session(self, number)
            session.take(frame)


class _FakeTransport:
    def __init__(self, connection: _Connection) -> None:
        self.writer = connection


class _FakeBroker(Broker):
    """A connection to the fake; all but opening and closing is the real class."""

    def __init__(self, rabbit: FakeRabbit) -> None:
        super().__init__(URL("amqp://fake:5672/"), timeout=5.0)
        self._rabbit = rabbit

    async def __aenter__(self) -> Self:
        connection = _Connection(self._rabbit)
        self._rabbit.connections.append(connection)
        self._connection = cast("Any", connection)
        self._transport = cast("Any", _FakeTransport(connection))
        self._lost = asyncio.get_running_loop().create_future()
        connection.closing.add_done_callback(self._on_closing)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._lose(BrokerUnavailable("the connection was closed here"))
        if self._connection is not None:
            await self._connection.close(None)

    def another(self, name: str) -> Broker:  # noqa: ARG002 - the fake lists no connections
        """A second connection."""
        return self._rabbit.connect()
