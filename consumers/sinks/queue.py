"""The queue sink: events to an exchange or queue, of this broker or another one.

A message goes out with the event's own bytes and the properties of the contract. It is delivered when the broker has
confirmed it; ``mandatory`` makes one that no queue takes a failure instead of a loss.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pamqp import commands as spec
from pydantic import Field, model_validator
from yarl import URL

from consumers.sinks.base import Delivered, Delivery, Failed, Outcome, Rejected
from consumers.sinks.context import SinkContext
from consumers.sinks.secret import Text
from consumers.sinks.settings import SinkSettings
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.wire import Outgoing
from kamaji_events.catalogue import by_type
from kamaji_events.duration import Duration
from kamaji_events.envelope import APP_ID, CONTENT_TYPE
from kamaji_events.errors import BrokerError, PublishFailed, SettingsError
from kamaji_events.event import Event
from kamaji_events.routing import routing_key

__all__ = ["QueueSettings", "QueueSink"]

_PERSISTENT = 2
_SHORT = 255
"""Bytes of an AMQP short string, such as a message id."""


class AmqpTls(SinkSettings):
    """Files for amqps://; none trusts the system's authorities."""

    ca: Path | None = None
    """A PEM file of authorities to trust."""
    cert: Path | None = None
    """A PEM file with the client's certificate."""
    key: Path | None = None
    """A PEM file with its key."""


class QueueSettings(SinkSettings):
    """What stands under ``queue:``: a queue, or an exchange."""

    url: Text | None = None
    """``amqp://`` or ``amqps://``; with a password in it give it by fromFile or fromEnv. None is the worker's own."""
    queue: str | None = Field(default=None, min_length=1, max_length=255)
    """A queue's name: events go straight into it."""
    exchange: str | None = Field(default=None, min_length=1, max_length=255)
    """An exchange's name."""
    routing_key: str | None = Field(default=None, max_length=255)
    """For an exchange; None is the event's own key, ``<kind>.<event>.<cluster>.<namespace>.<name>``."""
    timeout: Duration = 10.0
    """Seconds for connecting, and for a confirm."""
    tls: AmqpTls = AmqpTls()
    """Authorities, client certificate."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.queue is None) == (self.exchange is None):
            raise ValueError("needs exactly one of queue and exchange")
        if self.queue is not None and self.routing_key is not None:
            raise ValueError("routingKey is for an exchange: a queue's key is its name")
        if self.url is not None:
            _check(self.url)
        if self.timeout <= 0:
            raise ValueError("timeout must be more than 0")
        return self


def _check(url: Text) -> None:
    parts = urlsplit(url.value())
    if parts.scheme not in ("amqp", "amqps") or not parts.hostname:
        raise ValueError("url must start with amqp:// or amqps:// and have a host")
    if url.plain is not None and parts.password:
        raise ValueError("url holds a password: write {fromFile: ...} or {fromEnv: ...}")


class QueueSink:
    """Publishes with confirms on one connection, opened by the first delivery and again after it was lost.

    Args:
        settings: see ``QueueSettings``.
        context: the worker's; its broker is the default one.

    Raises:
        ValueError: no broker is known, or events would come back to where they are from.
    """

    Settings = QueueSettings

    def __init__(self, settings: QueueSettings, context: SinkContext) -> None:
        if settings.url is None and not context.amqp_url:
            raise ValueError("url is missing")
        if settings.url is None and settings.exchange == context.events_exchange:
            raise ValueError(f"exchange {settings.exchange!r} is where events come from: they would go round for ever")
        self._settings = settings
        self._own_url = context.amqp_url
        self._name = f"kamaji-events sink {context.subscription}"
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._broker: Broker | None = None
        self._publisher: ConfirmingPublisher | None = None

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Publish the event once."""
        try:
            outgoing = self._outgoing(delivery.event)
            publisher = await self._ready()
            await publisher.publish(outgoing, exchange=self._settings.exchange or "", mandatory=True)
        except PublishFailed as error:
            return Failed(str(error))
        except (BrokerError, SettingsError) as error:
            return Failed(f"broker: {error}")
        except ValueError as error:  # a name that AMQP cannot carry
            return Rejected(str(error))
        return Delivered()

    async def _ready(self) -> ConfirmingPublisher:
        """The publisher; a lost one, or one whose channel was closed, is replaced."""
        async with self._lock:
            if self._publisher is not None and self._publisher.channel.error is None:
                return self._publisher
            await self._let_go()
            async with AsyncExitStack() as stack:
                self._broker = await stack.enter_async_context(
                    connect(self._url(), name=self._name, timeout=self._settings.timeout)
                )
                publisher = await stack.enter_async_context(self._broker.publisher(timeout=self._settings.timeout))
                self._stack, self._publisher = stack.pop_all(), publisher
            return publisher

    def _url(self) -> str:
        tls = self._settings.tls
        files = {"cafile": tls.ca, "certfile": tls.cert, "keyfile": tls.key}
        given = {name: str(path) for name, path in files.items() if path is not None}
        url = self._settings.url.value() if self._settings.url is not None else self._own_url
        return str(URL(url).update_query(given)) if given else url

    async def _let_go(self) -> None:
        stack, self._stack = self._stack, AsyncExitStack()
        self._publisher = None
        await stack.aclose()

    def _outgoing(self, event: Event) -> Outgoing:
        identifier = event.id if len(event.id.encode()) <= _SHORT else None
        properties = spec.Basic.Properties(
            content_type=CONTENT_TYPE,
            delivery_mode=_PERSISTENT,
            correlation_id=event.operationid,
            message_id=identifier,
            timestamp=event.time,
            message_type=event.type[:_SHORT],
            app_id=APP_ID,
        )
        return Outgoing(event.raw, self._key(event), properties)

    def _key(self, event: Event) -> str:
        settings = self._settings
        if settings.queue is not None:
            return settings.queue
        if settings.routing_key is not None:
            return settings.routing_key
        row = by_type(event.type)
        name = event.object_name or event.subject or "_"
        return routing_key(row, event.cluster or "_", event.namespace, name) if row else event.type

    async def aclose(self) -> None:
        """Close the connection."""
        await self._let_go()
