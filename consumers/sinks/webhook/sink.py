"""The webhook sink: an event as one POST.

The body is the event's own bytes. ``webhook-id`` and ``idempotency-key`` are the same for every try, the timestamp
and the signature are made for each. Redirects are not followed. What each status means stands in ``webhook.judge``.
"""

import httpx

from consumers.sinks.base import Delivery, Failed, Outcome, Rejected
from consumers.sinks.context import SinkContext
from consumers.sinks.web.client import NoReply, WebClient, user_agent
from consumers.sinks.webhook import binding
from consumers.sinks.webhook.judge import judge
from consumers.sinks.webhook.settings import WebhookSettings
from consumers.sinks.webhook.signature import message_id
from consumers.sinks.webhook.signer import Signer

__all__ = ["WebhookSink"]


class WebhookSink:
    """Posts events to a URL.

    Args:
        settings: see ``WebhookSettings``.
        context: the worker's.
        transport: for tests; None makes the real one.
    """

    Settings = WebhookSettings

    def __init__(
        self, settings: WebhookSettings, context: SinkContext, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._settings = settings
        self._clock = context.clock
        self._client = WebClient(settings, context, transport=transport)
        self._client.check_url(settings.url.value())
        self._signer = Signer(settings.signature) if settings.signature else None
        self._shape = binding.binary if settings.mode == "binary" else binding.structured
        self._fixed = [("user-agent", user_agent()), ("accept", "*/*"), ("accept-encoding", "identity")]

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Post the event once."""
        try:
            headers, body = self._shape(delivery.event)
        except binding.Unfit as error:
            return Rejected(str(error))
        return await self._post(headers, body, message_id(delivery.event.id))

    async def _post(self, headers: list[tuple[str, str]], body: bytes, identifier: str) -> Outcome:
        url = self._settings.url.value()
        try:
            reply = await self._client.send("POST", url, self._headers(headers, body, identifier), body)
        except NoReply as error:
            return Failed(str(error))
        return judge(reply, url, self._clock(), self._settings.statuses)

    def _headers(self, headers: list[tuple[str, str]], body: bytes, identifier: str) -> list[tuple[str, str]]:
        seconds = int(self._clock())
        made = [
            *headers,
            *self._fixed,
            ("webhook-id", identifier),
            ("webhook-timestamp", str(seconds)),
            ("idempotency-key", f'"{identifier}"'),
        ]
        if self._signer is not None:
            made.append(("webhook-signature", self._signer.sign(identifier, seconds, body)))
        made.extend((name, text.value()) for name, text in self._settings.headers.items())
        return made

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
