"""Publishing with confirms: correct first, and bounded.

A message counts when RabbitMQ has confirmed it. What was sent and not confirmed in time may still arrive: whoever
sends it again makes a copy with the same id, which is why every reader de-duplicates.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from pamqp import commands as spec

from kamaji_events.broker.channel import Channel, Content
from kamaji_events.broker.wire import Outgoing, frames
from kamaji_events.envelope import Message
from kamaji_events.errors import BrokerError, BrokerUnavailable, PublishFailed

__all__ = ["ConfirmingPublisher"]

_Key = tuple[str, str, str]
"""Exchange, routing key and message id: all that a returned message can be recognised by."""


class _Sent:
    """Messages whose confirms are awaited together."""

    __slots__ = ("done", "left")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.left = 0
        self.done: asyncio.Future[None] = loop.create_future()

    def confirmed(self) -> None:
        self.left -= 1
        if not self.left and not self.done.done():
            self.done.set_result(None)

    def failed(self, error: BrokerError) -> None:
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()  # told even when nobody waits for it any more


class ConfirmingPublisher:
    """Publishes on one channel and returns when RabbitMQ has confirmed.

    Args:
        channel: of which it becomes the only publisher.
        max_in_flight: messages unconfirmed at once; ``publish`` waits beyond them.
        max_bytes: bytes of bodies unconfirmed at once; one larger message still goes, alone.
        timeout: seconds that one publish, or a whole ``publish_many``, may go without any confirm.
        held_up: asked when that time is over; True waits on. A memory alarm is no reason to send a second copy.
        owns: open and close the channel, too.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        max_in_flight: int = 1000,
        max_bytes: int = 16 * 1024 * 1024,
        timeout: float = 30.0,
        held_up: Callable[[], bool] = lambda: False,
        owns: bool = False,
    ) -> None:
        self.channel = channel
        self._max = max_in_flight
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._held_up = held_up
        self._owns = owns
        self._tag = 0
        self._bytes = 0
        self._pending: dict[int, tuple[_Sent, int, _Key | None]] = {}
        self._returnable: defaultdict[_Key, deque[int]] = defaultdict(deque)
        self._room: deque[asyncio.Future[None]] = deque()
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        self.channel.on_confirm = self._on_confirm
        self.channel.on_return = self._on_return
        self.channel.listen(self)
        if self._owns:
            await self.channel.__aenter__()
        try:
            await self.channel.call(spec.Confirm.Select())
        except BaseException:
            await self._release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.channel.on_confirm = self.channel.on_return = None
        self.lost(BrokerUnavailable("the publisher was closed"))
        await self._release()

    async def _release(self) -> None:
        if self._owns:
            await self.channel.aclose()

    @property
    def in_flight(self) -> int:
        """Messages sent and not yet confirmed."""
        return len(self._pending)

    async def publish(
        self,
        message: Message | Outgoing,
        *,
        exchange: str,
        headers: Mapping[str, Any] | None = None,
        mandatory: bool = False,
    ) -> None:
        """Publish one message; when this returns, RabbitMQ has it.

        Args:
            message: an event, or anything else as ``Outgoing``.
            exchange: its name, empty for the default one.
            headers: of an event; an ``Outgoing`` brings its own.
            mandatory: fail when no queue takes it; the message then needs a message id.

        Raises:
            PublishFailed: refused by a queue, returned, or not confirmed in time.
            BrokerError: the channel or connection was lost: whether it arrived is unknown.
        """
        outgoing = message if isinstance(message, Outgoing) else Outgoing.of(message, headers)
        sent = _Sent(self._loop)
        await self._send(sent, outgoing, exchange, mandatory=mandatory)
        await self._wait(sent.done)

    async def publish_many(self, messages: Iterable[Message | Outgoing], *, exchange: str) -> None:
        """Publish in order, many in flight; when this returns, RabbitMQ has them all.

        Raises:
            PublishFailed: one was refused or no confirm came in time; which of the others arrived is unknown.
            BrokerError: the channel or connection was lost.
        """
        sent = _Sent(self._loop)
        sent.left = 1  # held open until the last one is sent
        for message in messages:
            outgoing = message if isinstance(message, Outgoing) else Outgoing.of(message)
            await self._send(sent, outgoing, exchange, mandatory=False)
            if sent.done.done():
                break
        sent.confirmed()
        await self._wait(sent.done)

    async def _send(self, sent: _Sent, outgoing: Outgoing, exchange: str, *, mandatory: bool) -> None:
        size = len(outgoing.body)
        while self._pending and (len(self._pending) >= self._max or self._bytes + size > self._max_bytes):
            room: asyncio.Future[None] = self._loop.create_future()
            self._room.append(room)
            await self._wait(room)
        self.channel.check()
        body_max = self.channel.body_max
        data = frames(self.channel.number, exchange, outgoing, mandatory=mandatory, body_max=body_max)
        self._tag += 1  # only now: what cannot be encoded has no tag
        key = (exchange, outgoing.routing_key, outgoing.properties.message_id or "") if mandatory else None
        if key is not None:
            self._returnable[key].append(self._tag)
        sent.left += 1
        self._pending[self._tag] = (sent, size, key)
        self._bytes += size
        self.channel.send(data)

    async def _wait(self, future: "asyncio.Future[None]") -> None:
        while not future.done():
            await asyncio.wait((future,), timeout=self._timeout)
            if not (future.done() or self._held_up()):
                raise PublishFailed(f"RabbitMQ did not confirm within {self._timeout:g} s")
        future.result()

    def _on_confirm(self, tag: int, multiple: bool, acknowledged: bool) -> None:  # noqa: FBT001 - as on the wire
        if not multiple:
            self._settle(tag, acknowledged=acknowledged)
        else:
            while self._pending and (oldest := next(iter(self._pending))) <= tag:
                self._settle(oldest, acknowledged=acknowledged)
        self._make_room()

    def _settle(self, tag: int, *, acknowledged: bool) -> None:
        found = self._pending.pop(tag, None)
        if found is None:
            return
        sent, size, key = found
        self._bytes -= size
        if key is not None:
            self._forget(key, tag)
        if acknowledged:
            sent.confirmed()
        else:
            sent.failed(PublishFailed("RabbitMQ refused the message (nack): a queue is full or has no majority"))

    def _make_room(self) -> None:
        while self._room:
            room = self._room.popleft()
            if not room.done():
                room.set_result(None)

    def _on_return(self, content: Content) -> None:
        """A mandatory message came back; its confirm follows. A return names no tag: the oldest equal one it is."""
        method = content.method
        key = (method.exchange or "", method.routing_key or "", content.properties.message_id or "")
        for tag in self._returnable.get(key, ()):
            self._pending[tag][0].failed(PublishFailed(f"no queue takes {key[1]!r}: {method.reply_text}"))
            self._forget(key, tag)
            break

    def _forget(self, key: _Key, tag: int) -> None:
        tags = self._returnable.get(key)
        if tags is None or tag not in tags:
            return
        tags.remove(tag)
        if not tags:
            del self._returnable[key]

    def lost(self, error: BrokerError) -> None:
        """Told by the channel: nothing is known of what is in flight."""
        pending, self._pending, self._bytes = self._pending, {}, 0
        for sent, _, _ in pending.values():
            sent.failed(error)
        self._returnable.clear()
        self._make_room()
