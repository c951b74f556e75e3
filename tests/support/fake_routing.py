"""Exchanges, queues and streams in memory: the part of the fake broker that knows nothing of frames."""

import asyncio
from collections import deque
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol

from pamqp import commands as spec

__all__ = ["CloseError", "Consumer", "Exchange", "Message", "Queue", "Routing", "topic_matches", "with_header"]


def topic_matches(pattern: str, key: str) -> bool:
    """Whether a topic binding takes a key: ``*`` is one word, ``#`` any number of them."""
    return _match(pattern.split("."), key.split(".") if key else [])


def _match(pattern: list[str], words: list[str]) -> bool:
    if not pattern or pattern == [""]:
        return not words
    if pattern[0] == "#":
        return any(_match(pattern[1:], words[skip:]) for skip in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and _match(pattern[1:], words[1:])


class Session(Protocol):
    """The server's side of a channel."""

    prefetch: int
    unacked: dict[int, Any]

    def deliver(self, consumer: "Consumer", message: "Message") -> None:
        """Send a message to a consumer."""

    def answer(self, frame: Any) -> None:
        """Send a frame to the client."""


def with_header(properties: spec.Basic.Properties, name: str, value: Any) -> spec.Basic.Properties:
    """A copy with one header more."""
    changed = copy(properties)
    changed.headers = {**(properties.headers or {}), name: value}
    return changed


class CloseError(Exception):
    """The server closes the channel."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass
class Message:
    """A message on its way."""

    exchange: str
    key: str
    properties: spec.Basic.Properties
    body: bytes
    returns: int = 0
    offset: int | None = None


@dataclass
class Consumer:
    """One consumer of a queue."""

    session: Session
    tag: str
    queue: "Queue"
    position: int | None = None

    @property
    def open(self) -> bool:
        """Whether it may be given another message."""
        return not self.session.prefetch or len(self.session.unacked) < self.session.prefetch


@dataclass
class Queue:
    """A queue or stream."""

    name: str
    arguments: dict[str, Any]
    owner: object | None
    ready: deque[Message] = field(default_factory=deque)
    log: list[Message] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)

    @property
    def stream(self) -> bool:
        """Whether reading leaves messages where they are."""
        return self.arguments.get("x-queue-type") == "stream"

    @property
    def single(self) -> bool:
        """Whether only the first consumer is served."""
        return bool(self.arguments.get("x-single-active-consumer"))

    @property
    def full(self) -> bool:
        """Whether it refuses more."""
        most = self.arguments.get("x-max-length")
        return self.arguments.get("x-overflow") == "reject-publish" and most is not None and len(self.ready) >= most


@dataclass
class Exchange:
    """An exchange and its bindings."""

    type: str
    arguments: dict[str, Any]
    bindings: dict[tuple[str, str], None] = field(default_factory=dict)
    auto_delete: bool = False
    feeds: set[str] = field(default_factory=set)
    """Exchanges that it is bound to; nothing is passed on, which the project never asks for."""

    def queues(self, key: str) -> Iterator[str]:
        """The queues that a key leads to."""
        for bound, queue in self.bindings:
            if self.type == "fanout" or (topic_matches(bound, key) if self.type == "topic" else bound == key):
                yield queue


class Routing:
    """Exchanges and queues, and what happens between them."""

    def __init__(self) -> None:
        self.exchanges: dict[str, Exchange] = {}
        self.queues: dict[str, Queue] = {}

    def publish(self, message: Message) -> tuple[bool, bool]:
        """Route a message: whether any queue takes it, and whether all of them did."""
        names = set(self._route(message.exchange, message.key))
        accepted = True
        for name in names:
            queue = self.queues[name]
            if queue.full:
                accepted = False
            else:
                self._put(queue, message)
        return bool(names), accepted

    def _route(self, exchange: str, key: str) -> set[str]:
        if not exchange:
            return {key} & self.queues.keys()
        found = self.exchanges.get(exchange)
        if found is None:
            raise CloseError(404, f"NOT_FOUND - no exchange '{exchange}' in vhost '/'")
        names = set(found.queues(key)) & self.queues.keys()
        alternate = found.arguments.get("alternate-exchange")
        return names or (self._route(alternate, key) if alternate else set())

    def _put(self, queue: Queue, message: Message) -> None:
        copy = Message(message.exchange, message.key, message.properties, message.body)
        if queue.stream:
            copy.offset = len(queue.log)
            queue.log.append(copy)
        else:
            queue.ready.append(copy)
            if (ttl := queue.arguments.get("x-message-ttl")) is not None:
                asyncio.get_running_loop().call_later(ttl / 1000, self._expire, queue, copy)
        self.feed(queue)

    def _expire(self, queue: Queue, message: Message) -> None:
        if any(each is message for each in queue.ready):
            queue.ready = deque(each for each in queue.ready if each is not message)
            self.dead(queue, message, "expired")

    def dead(self, queue: Queue, message: Message, reason: str) -> None:
        """Hand a message to the queue's dead-letter exchange, if it has one."""
        exchange = queue.arguments.get("x-dead-letter-exchange")
        if exchange is None:
            return
        key = queue.arguments.get("x-dead-letter-routing-key", message.key)
        death: Any = [{"queue": queue.name, "reason": reason}]
        properties = with_header(message.properties, "x-death", death)
        self.publish(Message(exchange, key, properties, message.body))

    def requeue(self, queue: Queue, messages: list[Message]) -> None:
        """Give messages back to where they were; one that came back too often is dead."""
        limit = queue.arguments.get("x-delivery-limit")
        for message in reversed(messages):
            message.returns += 1
            if limit is not None and message.returns > limit:
                self.dead(queue, message, "delivery_limit")
            else:
                queue.ready.appendleft(message)
        self.feed(queue)

    def feed(self, queue: Queue) -> None:
        """Deliver what can be delivered, in turn."""
        if queue.stream:
            for consumer in queue.consumers:
                self._feed_stream(consumer)
            return
        while queue.ready:
            able = queue.consumers[:1] if queue.single else queue.consumers
            chosen = next((each for each in able if each.open), None)
            if chosen is None:
                return
            if not queue.single:
                queue.consumers.remove(chosen)
                queue.consumers.append(chosen)
            chosen.session.deliver(chosen, queue.ready.popleft())

    def _feed_stream(self, consumer: Consumer) -> None:
        while consumer.open and consumer.position is not None and consumer.position < len(consumer.queue.log):
            message = consumer.queue.log[consumer.position]
            consumer.position += 1
            consumer.session.deliver(consumer, message)

    def delete_exchange(self, name: str) -> None:
        """Delete an exchange, and such as go with their last binding."""
        self.exchanges.pop(name, None)
        for other, exchange in list(self.exchanges.items()):
            if name in exchange.feeds:
                exchange.feeds.discard(name)
                if exchange.auto_delete and not exchange.feeds and not exchange.bindings:
                    self.delete_exchange(other)

    def delete(self, name: str) -> None:
        """Delete a queue: its consumers are cancelled."""
        queue = self.queues.pop(name, None)
        for consumer in queue.consumers if queue is not None else ():
            consumer.session.answer(spec.Basic.Cancel(consumer_tag=consumer.tag, nowait=True))
        for exchange in self.exchanges.values():
            exchange.bindings = {place: None for place in exchange.bindings if place[1] != name}
