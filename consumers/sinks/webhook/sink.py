"""The webhook sink: an event as one POST.

The body is the event's own bytes, or a template's. ``webhook-id`` and ``idempotency-key`` are the same for every try,
the timestamp and the signature are made for each. Redirects are not followed. What each status means stands in
``webhook.judge``.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256

import httpx

from consumers.sinks.base import Delivery, Failed, Outcome, Rejected
from consumers.sinks.context import SinkContext
from consumers.sinks.gather import Batcher
from consumers.sinks.web.auth import make_auth
from consumers.sinks.web.client import NoReply, Reply, WebClient, user_agent
from consumers.sinks.webhook import binding
from consumers.sinks.webhook.binding import Message
from consumers.sinks.webhook.handshake import Handshake
from consumers.sinks.webhook.judge import judge
from consumers.sinks.webhook.settings import WebhookSettings
from consumers.sinks.webhook.signature import message_id
from consumers.sinks.webhook.signer import Signer
from consumers.sinks.webhook.template import BodyTemplate

__all__ = ["WebhookSink"]

_ABOUT_THE_BODY = frozenset((400, 413, 415, 422))
"""Statuses of a batch that one event in it can be the cause of."""
_FIXED = [("user-agent", user_agent()), ("accept", "*/*"), ("accept-encoding", "identity")]


class WebhookSink:
    """Posts events to a URL.

    Args:
        settings: see ``WebhookSettings``.
        context: the worker's.
        transport: for tests; None makes the real one.

    Raises:
        ValueError: a file cannot be read, or the URL's address is refused by the guard.
    """

    Settings = WebhookSettings

    def __init__(
        self, settings: WebhookSettings, context: SinkContext, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._settings = settings
        self._clock = context.clock
        self._shape = _shape(settings)
        self._client = WebClient(settings, context, transport=transport)
        self._client.check_url(settings.url.value())
        self._signer = Signer(settings.signature) if settings.signature else None
        self._auth = make_auth(settings.auth, self._client, context.clock) if settings.auth else None
        self._handshake = Handshake(settings.handshake, self._client, context) if settings.handshake else None
        self._batcher = Batcher(settings.batch, self._deliver_batch) if settings.mode == "batched" else None

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Post the event once."""
        if self._batcher is not None:
            return await self._batcher.add(delivery, len(delivery.event.raw))
        try:
            message = self._shape(delivery)
        except binding.Unfit as error:
            return Rejected(str(error))
        return await self._post(message, message_id(delivery.event.id))

    async def _deliver_batch(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        """Post several together; when the body is refused, its halves alone, until the one in fault is alone."""
        events = [delivery.event for delivery in deliveries]
        outcome = await self._post(binding.batched(events), _batch_id([event.id for event in events]))
        refused = isinstance(outcome, (Failed, Rejected)) and outcome.status in _ABOUT_THE_BODY
        if len(deliveries) == 1 or not refused:
            return [outcome] * len(deliveries)
        half = len(deliveries) // 2
        return [*await self._deliver_batch(deliveries[:half]), *await self._deliver_batch(deliveries[half:])]

    async def _post(self, message: Message, identifier: str) -> Outcome:
        url = self._settings.url.value()
        try:
            if self._handshake is not None and (refused := await self._handshake.permission(url)) is not None:
                return refused
            reply = await self._authorized(url, message, identifier)
        except NoReply as error:
            return Failed(str(error))
        return judge(reply, url, self._clock(), self._settings.statuses)

    async def _authorized(self, url: str, message: Message, identifier: str) -> Reply:
        if self._auth is None:
            return await self._sent(url, message, identifier)
        header = await self._auth.header()
        reply = await self._sent(url, message, identifier, ("authorization", header))
        if reply.status != 401 or not self._auth.refused(header):  # noqa: PLR2004 - unauthorized
            return reply
        # Not another try: the token had ended earlier than it said, and the receiver did not look at the event.
        return await self._sent(url, message, identifier, ("authorization", await self._auth.header()))

    async def _sent(self, url: str, message: Message, identifier: str, *more: tuple[str, str]) -> Reply:
        headers, body = message
        seconds = int(self._clock())
        made = [
            *headers,
            *_FIXED,
            ("webhook-id", identifier),
            ("webhook-timestamp", str(seconds)),
            ("idempotency-key", f'"{identifier}"'),
        ]
        if self._signer is not None:
            made.append(("webhook-signature", self._signer.sign(identifier, seconds, body)))
        if self._handshake is not None:
            made.extend(self._handshake.headers())
        made.extend(more)
        made.extend((name, text.value()) for name, text in self._settings.headers.items())
        return await self._client.send("POST", url, made, body)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._handshake is not None:
            await self._handshake.aclose()
        await self._client.aclose()


def _shape(settings: WebhookSettings) -> Callable[[Delivery], Message]:
    if settings.template is not None:
        return BodyTemplate(settings.template).render
    if settings.mode == "binary":
        return lambda delivery: binding.binary(delivery.event)
    return lambda delivery: binding.structured(delivery.event)


def _batch_id(ids: Sequence[str]) -> str:
    """The same for the same events in the same order."""
    if len(ids) == 1:
        return message_id(ids[0])
    return f"batch:{sha256(' '.join(ids).encode()).hexdigest()}"
