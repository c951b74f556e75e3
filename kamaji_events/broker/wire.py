"""A message as AMQP frames, ready to be written.

Source: the specification AMQP 0-9-1, sections 2.3.5 (frames) and 4.2.6 (content).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pamqp import commands as spec
from pamqp.body import ContentBody
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from kamaji_events.envelope import APP_ID, CONTENT_TYPE, Message

if TYPE_CHECKING:
    from kamaji_events.broker.consume import Incoming

__all__ = ["Outgoing", "frames"]

_PERSISTENT = 2


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message for any exchange: what is neither an event of one's own nor made by ``of`` is built as it is."""

    body: bytes
    routing_key: str
    properties: spec.Basic.Properties = field(default_factory=lambda: spec.Basic.Properties(delivery_mode=_PERSISTENT))

    @classmethod
    def of(cls, message: Message, headers: Mapping[str, Any] | None = None) -> "Outgoing":
        """An event with the properties of the contract: content type, id, type, time, operation, persistent."""
        properties = spec.Basic.Properties(
            content_type=CONTENT_TYPE,
            headers=dict(headers) if headers else None,
            delivery_mode=_PERSISTENT,
            correlation_id=message.correlation_id,
            message_id=message.id,
            timestamp=datetime.fromtimestamp(message.seconds, UTC),
            message_type=message.type,
            app_id=APP_ID,
        )
        return cls(message.body, message.routing_key, properties)

    @classmethod
    def again(cls, incoming: "Incoming", *, routing_key: str, headers: Mapping[str, Any]) -> "Outgoing":
        """The same bytes and properties under another key: a retry, a dead letter, a redrive.

        Every ``x-*`` header is left behind: with a carried ``x-death`` RabbitMQ 3.10 takes a redriven message for a
        cycle and never delivers it.

        Args:
            incoming: as it was consumed.
            routing_key: where it goes.
            headers: set over those it has.
        """
        kept = {name: value for name, value in incoming.headers.items() if not name.startswith("x-")}
        old = incoming.properties
        properties = spec.Basic.Properties(
            content_type=old.content_type,
            content_encoding=old.content_encoding,
            headers=kept | dict(headers),
            delivery_mode=_PERSISTENT,
            correlation_id=old.correlation_id,
            message_id=old.message_id,
            timestamp=old.timestamp,
            message_type=old.message_type,
            app_id=old.app_id,
        )
        return cls(incoming.body, routing_key, properties)


def frames(channel: int, exchange: str, outgoing: Outgoing, *, mandatory: bool, body_max: int) -> bytes:
    """Method, header and body frames of one publish, in one piece.

    Args:
        channel: its number.
        exchange: empty for the default one.
        outgoing: the message; a body over ``body_max`` bytes is split.
        mandatory: have it returned when no queue wants it.
        body_max: bytes of a body that one frame may carry.
    """
    body = outgoing.body
    method = spec.Basic.Publish(exchange=exchange, routing_key=outgoing.routing_key, mandatory=mandatory)
    parts = [
        marshal(method, channel),
        marshal(ContentHeader(properties=outgoing.properties, body_size=len(body)), channel),
    ]
    starts = range(0, len(body), body_max)
    parts.extend(marshal(ContentBody(body[start : start + body_max]), channel) for start in starts)
    return b"".join(parts)
