"""A webhook receiver that checks what it gets: for the demo, for `kamaji-events receive`, for a first look.

It shows what a receiver of one's own has to do: verify the signature over the raw bytes, answer 2xx quickly,
and take an event once by its source and id.
"""

import base64
import binascii
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from types import TracebackType
from typing import Self

import orjson
from aiohttp import web

from kamaji_events.envelope import CONTENT_TYPE
from kamaji_events.errors import EnvelopeError, SettingsError
from kamaji_events.event import Event

__all__ = ["CheckingReceiver", "Tally"]

_TOLERANCE = 300.0
"""Seconds that a signature's timestamp may be off: older ones could be replays."""
_REMEMBERED = 100_000
"""Ids kept to tell copies from new events."""


@dataclass(slots=True)
class Tally:
    """What came in."""

    events: int = 0
    """Different events."""
    copies: int = 0
    """Events that had come before: normal after a crash, the id tells."""
    problems: list[str] = field(default_factory=list)
    """What was wrong, at most 20 lines of it."""
    refused: int = 0
    """Requests answered with 4xx."""

    def problem(self, text: str) -> None:
        """Note one."""
        if len(self.problems) < 20:  # noqa: PLR2004 - enough to see a pattern
            self.problems.append(text)


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise SettingsError("the secret must look like whsec_ followed by base64") from error


class CheckingReceiver:
    """An HTTP server that takes events by POST on any path.

    Args:
        host: address to listen on.
        port: 0 takes a free one.
        secret: ``whsec_`` secret of Standard Webhooks; None checks no signature.
        on_event: called once for each different event.
    """

    def __init__(
        self, host: str, port: int, *, secret: str | None = None, on_event: Callable[[Event], None] = lambda _: None
    ) -> None:
        self.tally = Tally()
        self._host = host
        self.port = port
        self._secret = _key(secret) if secret else None
        self._on_event = on_event
        self._seen: dict[tuple[str, str], bytes] = {}
        app = web.Application(client_max_size=4 * 1024 * 1024)
        app.router.add_get("/{path:.*}", _alive)
        app.router.add_post("/{path:.*}", self._take)
        self._runner = web.AppRunner(app, access_log=None)

    @property
    def url(self) -> str:
        """Where to post."""
        return f"http://{self._host}:{self.port}/"

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self.port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise SettingsError(f"cannot listen on {self._host}:{self.port}: {error.strerror}; give --port") from error
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if self._secret is not None and (wrong := _signature_problem(self._secret, request, body)):
            return self._refuse(401, wrong)
        try:
            event = Event.from_bytes(_structured(request, body))
        except EnvelopeError as error:
            return self._refuse(400, str(error))
        self._count(event)
        return web.Response(status=204)

    def _refuse(self, status: int, text: str) -> web.Response:
        self.tally.refused += 1
        self.tally.problem(text)
        return web.Response(status=status, text=text)

    def _count(self, event: Event) -> None:
        digest = sha256(event.raw).digest()
        before = self._seen.setdefault((event.source, event.id), digest)
        if before is not digest:
            self.tally.copies += 1
            if before != digest:
                self.tally.problem(f"{event.id}: one id with two contents")
            return
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self.tally.events += 1
        self._on_event(event)


async def _alive(_: web.Request) -> web.Response:
    return web.Response(text="post events here\n")


def _structured(request: web.Request, body: bytes) -> bytes:
    """The structured form of either mode of the CloudEvents HTTP binding."""
    if request.content_type == CONTENT_TYPE or "ce-id" not in request.headers:
        return body
    attributes: dict[str, object] = {
        name[3:].lower(): value for name, value in request.headers.items() if name.lower().startswith("ce-")
    }
    try:
        return orjson.dumps({**attributes, "data": orjson.loads(body)})
    except orjson.JSONDecodeError as error:
        raise EnvelopeError(f"not JSON: {error}") from error


def _signature_problem(key: bytes, request: web.Request, body: bytes) -> str | None:
    """Standard Webhooks: HMAC-SHA256 over ``id.timestamp.body`` with the raw bytes."""
    headers = request.headers
    sent, when = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not when.isdigit() or abs(time.time() - int(when)) > _TOLERANCE:
        return "webhook-timestamp is missing or too far from now"
    wanted = base64.b64encode(hmac.digest(key, f"{sent}.{when}.".encode() + body, "sha256")).decode()
    for signature in headers.get("webhook-signature", "").split():
        if hmac.compare_digest(signature.encode(), f"v1,{wanted}".encode()):
            return None
    return "no signature is made with this secret"
