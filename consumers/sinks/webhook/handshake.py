"""The CloudEvents webhook handshake: asking a receiver whether it wants deliveries, and how many.

Source: CloudEvents 1.0.2, HTTP 1.1 Web Hooks for Event Delivery, 4. A status is no consent: only the header
``WebHook-Allowed-Origin`` is. A receiver may grant later by calling the callback URL; what it granted is kept in the
sink's memory, so that the call may reach any of several workers.
"""

import asyncio
import hmac
import logging
import math
import re
import secrets
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import Field

from consumers.sinks.base import Failed, Outcome, Throttled
from consumers.sinks.context import SinkContext
from consumers.sinks.settings import SinkSettings
from consumers.sinks.web.client import NoReply, Reply, WebClient, host_of, user_agent
from consumers.sinks.web.settings import HttpUrl
from kamaji_events.duration import Duration

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["CallbackSettings", "Handshake", "HandshakeSettings"]

_log = logging.getLogger(__name__)

_AGAIN = 60.0
"""Seconds until a receiver that did not grant is asked again."""
_MINUTE = 60.0


class CallbackSettings(SinkSettings):
    """Where a receiver, or its administrator in a browser, grants later."""

    url: HttpUrl
    """As the receiver reaches it, e.g. ``https://events.example.com/grants``; a secret token is added to it."""
    listen: str = Field(pattern=r"^.+:\d{1,5}$")
    """Where the worker listens for it, e.g. ``0.0.0.0:8090``; one port for each subscription."""


class HandshakeSettings(SinkSettings):
    """Ask before delivering."""

    origin: str = Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9.-]+$")
    """The DNS name that stands for this sender, the same for all its workers."""
    rate: int | None = Field(default=None, ge=1)
    """Deliveries a minute that are asked for."""
    callback: CallbackSettings | None = None
    """None understands an answer at once only."""
    repeat: Duration = 86400.0
    """Seconds after which a grant is asked for again."""


class Handshake:
    """Permission to deliver.

    Args:
        settings: what to ask.
        client: what the question is sent with.
        context: clock and memory.
    """

    def __init__(self, settings: HandshakeSettings, client: WebClient, context: SinkContext) -> None:
        self._settings = settings
        self._client = client
        self._clock = context.clock
        self._memory = context.memory
        self._key = f"webhook.grant.{context.subscription}"
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._ask_at = 0.0
        self._refused: Outcome | None = None
        self._rate: float = math.inf
        self._sent: deque[float] = deque()
        self._runner: web.AppRunner | None = None

    def headers(self) -> list[tuple[str, str]]:
        """What every delivery carries after a grant."""
        return [("webhook-request-origin", self._settings.origin)]

    async def permission(self, url: str) -> Outcome | None:
        """None when a delivery may go out now, else what has come of it instead."""
        async with self._lock:
            if self._clock() >= self._until:
                refused = await self._granted(url)
                if refused is not None:
                    return refused
        return self._within_rate(url)

    def _within_rate(self, url: str) -> Outcome | None:
        now = self._clock()
        while self._sent and self._sent[0] <= now - _MINUTE:
            self._sent.popleft()
        if len(self._sent) >= self._rate:
            wait = self._sent[0] + _MINUTE - now
            return Throttled(f"{host_of(url)} allows {self._rate:g} deliveries a minute", retry_after=wait)
        if self._rate is not math.inf:
            self._sent.append(now)
        return None

    async def _granted(self, url: str) -> Outcome | None:
        note = await self._note(url)
        if note.get("granted") is not None and note["granted"] + self._settings.repeat > self._clock():
            self._take(note.get("rate"), note["granted"])
            return None
        if self._clock() < self._ask_at:
            return self._refused
        self._ask_at = self._clock() + _AGAIN
        await self._listen()
        self._refused = await self._asked(url, note)
        return self._refused

    def _take(self, rate: float | None, since: float) -> None:
        wanted = self._settings.rate or math.inf
        self._rate = min(rate or math.inf, wanted)
        self._until = since + self._settings.repeat
        self._sent.clear()

    async def _asked(self, url: str, note: dict[str, Any]) -> Outcome | None:
        try:
            reply = await self._client.send("OPTIONS", url, self._question(note))
        except NoReply as error:
            return Failed(f"handshake: {error}")
        if reply.headers.get("webhook-allowed-origin") in (self._settings.origin, "*"):
            self._take(_allowed_rate(reply), self._clock())
            return None
        told = f"handshake: {host_of(url)} answered {reply.status} and did not grant {self._settings.origin}"
        if self._settings.callback is not None:
            return Throttled(f"{told} yet: waiting for the callback", retry_after=_AGAIN, status=reply.status)
        return Failed(f"{told} (no WebHook-Allowed-Origin)", status=reply.status)

    def _question(self, note: dict[str, Any]) -> list[tuple[str, str]]:
        settings = self._settings
        asked = [("user-agent", user_agent()), ("webhook-request-origin", settings.origin)]
        if settings.rate is not None:
            asked.append(("webhook-request-rate", str(settings.rate)))
        if settings.callback is not None:
            asked.append(("webhook-request-callback", f"{settings.callback.url.value().rstrip('/')}/{note['token']}"))
        return asked

    async def _note(self, url: str) -> dict[str, Any]:
        """What is remembered of this URL: the callback's token, and since when and for what rate it was granted."""
        target = sha256(url.encode()).hexdigest()
        if self._settings.callback is None:
            return {}
        found = await self._memory.get(self._key)
        note = orjson.loads(found) if found else {}
        if note.get("target") != target:  # another receiver was not asked yet
            note = {"target": target, "token": secrets.token_urlsafe(24), "granted": None, "rate": None}
            await self._memory.put(self._key, orjson.dumps(note))
        return dict(note)

    async def _listen(self) -> None:
        callback = self._settings.callback
        if callback is None or self._runner is not None:
            return
        from aiohttp import web  # noqa: PLC0415 - heavy, and only the callback needs it

        application = web.Application(client_max_size=4096)
        application.router.add_route("GET", "/{rest:.*}", self._called)
        application.router.add_route("POST", "/{rest:.*}", self._called)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        host, _, port = callback.listen.rpartition(":")
        try:
            await web.TCPSite(runner, host.strip("[]"), int(port)).start()
        except OSError as error:
            await runner.cleanup()
            _log.warning("cannot listen on %s for grants: %s", callback.listen, error.strerror)
            return
        self._runner = runner

    async def _called(self, request: "web.Request") -> "web.Response":
        from aiohttp import web  # noqa: PLC0415

        found = await self._memory.get(self._key)
        note = orjson.loads(found) if found else {}
        token = request.path.rpartition("/")[2]
        if not note or not hmac.compare_digest(token.encode(), str(note["token"]).encode()):
            return web.Response(status=404, text="unknown token\n")
        note |= {"granted": self._clock(), "rate": _rate(request.headers.get("webhook-allowed-rate"))}
        await self._memory.put(self._key, orjson.dumps(note))
        self._ask_at = 0.0
        return web.Response(text="granted\n")

    async def aclose(self) -> None:
        """Stop listening for grants."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


def _allowed_rate(reply: Reply) -> float | None:
    return _rate(reply.headers.get("webhook-allowed-rate"))


def _rate(text: str | None) -> float | None:
    """Deliveries a minute; None for ``*``, an absent or a senseless value."""
    found = re.fullmatch(r"\s*([1-9]\d{0,8})\s*", text or "", re.ASCII)
    return float(found.group(1)) if found else None
