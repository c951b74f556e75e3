"""Consuming: an iterator that never ends silently.

The libraries' iterators end normally when the connection is lost, as if the queue were done with. This one raises.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from pamqp import commands as spec

from kamaji_events.broker.channel import Channel, Content
from kamaji_events.errors import BrokerError

__all__ = ["Consumer", "Incoming"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message from a queue."""

    body: bytes
    headers: Mapping[str, Any]
    properties: spec.Basic.Properties = field(repr=False)
    delivery_tag: int
    redelivered: bool
    routing_key: str
    exchange: str
    channel: Channel = field(repr=False, compare=False)

    @classmethod
    def of(cls, content: Content, channel: Channel) -> "Incoming":
        """Made of what a channel delivered."""
        method = content.method
        return cls(
            body=content.body,
            headers=content.properties.headers or {},
            properties=content.properties,
            delivery_tag=method.delivery_tag,
            redelivered=bool(method.redelivered),
            routing_key=method.routing_key or "",
            exchange=method.exchange or "",
            channel=channel,
        )

    async def ack(self, *, multiple: bool = False) -> None:
        """Say that it is done with, for ``multiple`` everything delivered before it on its channel, too.

        Raises:
            BrokerError: the channel is lost, and with it the right to acknowledge: the message comes again.
        """
        self.channel.ack(self.delivery_tag, multiple=multiple)

    async def reject(self, *, requeue: bool) -> None:
        """Give it back to its queue, which counts towards the delivery limit, or to the dead letters.

        Raises:
            BrokerError: the channel is lost.
        """
        self.channel.check()
        self.channel.send_method(spec.Basic.Reject(delivery_tag=self.delivery_tag, requeue=requeue))

    async def nack(self, *, requeue: bool, multiple: bool = False) -> None:
        """Give it back as ``reject`` does, but on RabbitMQ 4.3 without counting: only for looking at a queue.

        Raises:
            BrokerError: the channel is lost.
        """
        self.channel.check()
        frame = spec.Basic.Nack(delivery_tag=self.delivery_tag, multiple=multiple, requeue=requeue)
        self.channel.send_method(frame)


class Consumer:
    """A consumer of one queue; iterate over it.

    Iteration raises ``BrokerError`` when the channel, the connection or the consumer is lost: what was delivered
    and not acknowledged comes again. It ends only after ``stop()``, behind what had been delivered until then.
    """

    def __init__(
        self,
        channel: Channel,
        queue: str,
        *,
        prefetch: int,
        arguments: Mapping[str, Any] | None = None,
        exclusive: bool = False,
        owns: bool = False,
    ) -> None:
        self.channel = channel
        self.queue = queue
        self._prefetch = prefetch
        self._arguments = dict(arguments or {})
        self._exclusive = exclusive
        self._owns = owns
        self._tag = f"kamaji-events.{uuid4().hex}"
        self._waiting: deque[Incoming] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._error: BrokerError | None = None
        self._consuming = False
        self._stopped = False

    async def __aenter__(self) -> Self:
        self.channel.listen(self)
        if self._owns:
            await self.channel.__aenter__()
        try:
            await self.channel.call(spec.Basic.Qos(prefetch_size=0, prefetch_count=self._prefetch, global_=False))
            await self.resume()
        except BaseException:
            await self._release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        try:
            if self.channel.error is None:
                await self.pause()
        except BrokerError:
            if kind is None:
                raise
        finally:
            await self._release()

    async def _release(self) -> None:
        if self._owns:
            await self.channel.aclose()

    @property
    def consuming(self) -> bool:
        """False while paused."""
        return self._consuming

    @property
    def prefetched(self) -> int:
        """Messages that are here and not yet taken by the iteration."""
        return len(self._waiting)

    @property
    def upcoming(self) -> Incoming | None:
        """The message that the iteration gives next, if it is here already."""
        return self._waiting[0] if self._waiting else None

    async def resume(self) -> None:
        """Take messages (again)."""
        if self._consuming:
            return
        self.channel.consumers[self._tag] = self._deliver
        self._consuming = True
        await self.channel.call(
            spec.Basic.Consume(
                queue=self.queue, consumer_tag=self._tag, exclusive=self._exclusive, arguments=self._arguments
            )
        )

    async def pause(self) -> None:
        """Take no more; what was delivered is still iterated over, then the iteration waits for ``resume()``."""
        if not self._consuming:
            return
        self._consuming = False
        await self.channel.call(spec.Basic.Cancel(consumer_tag=self._tag, nowait=False))
        self.channel.consumers.pop(self._tag, None)

    async def stop(self) -> None:
        """Take no more, and end the iteration behind what was delivered."""
        await self.pause()
        self._stopped = True
        self._notify()

    def lost(self, error: BrokerError) -> None:
        """Told by the channel."""
        self._error = error
        self._waiting.clear()
        self._notify()

    def _deliver(self, content: Content) -> None:
        self._waiting.append(Incoming.of(content, self.channel))
        self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        while not self._waiting:
            if self._error is not None:
                raise type(self._error)(*self._error.args) from self._error
            if self._stopped:
                raise StopAsyncIteration
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        return self._waiting.popleft()
