"""One request, one reply, or one line on why there was none."""

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from consumers.sinks.context import SinkContext
from consumers.sinks.web.egress import EgressGuard, EgressRefused
from consumers.sinks.web.request import PlainRequest, parsed_url
from consumers.sinks.web.settings import Timeouts, WebSettings
from kamaji_events import __version__

__all__ = ["NoReply", "Reply", "WebClient", "host_of", "user_agent"]

_CAP = 64 * 1024
"""Most bytes of a reply that are read where only its status counts."""
_PATIENCE = 2.0
"""Seconds given to such a body: a slow one must not hold the slot once the status is known."""
_WHOLE = 1024 * 1024
"""Most bytes of a reply that is an answer in itself (OAuth2, Slack)."""
_EXCERPT = 200


class NoReply(Exception):  # noqa: N818 - says what happened, as kamaji_events.errors
    """No usable reply: refused, cut, too slow, no HTTP. The text is one line and holds no secret."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: httpx.Headers
    body: bytes
    """At most the cap; empty when it did not come in time."""

    def excerpt(self) -> str:
        """The start of the body as one line of printable text, for an error."""
        text = " ".join(self.body[: 4 * _EXCERPT].decode("utf-8", errors="replace").split())
        shown = "".join(letter if letter.isprintable() else "?" for letter in text[:_EXCERPT])
        return f"{shown}..." if len(text) > _EXCERPT else shown


def user_agent() -> str:
    """``kamaji-events/<version>``."""
    return f"kamaji-events/{__version__}"


def host_of(url: str) -> str:
    """Scheme and host of a URL: all of it that may be shown, since paths and queries hold tokens."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class WebClient:
    """Sends requests over a transport with every timeout, and reads replies up to a cap.

    Args:
        settings: the sink's.
        context: the worker's.
        transport: None makes the one that the settings ask for.

    Raises:
        ValueError: TLS files or HTTP/2 cannot be used.
    """

    def __init__(
        self, settings: WebSettings, context: SinkContext, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.guard = EgressGuard(settings.egress, context.allow)
        self._timeouts = settings.timeouts
        self._extensions = {"timeout": _extension(settings.timeouts)}
        self._transport = transport or _transport(settings, self.guard)

    def check_url(self, url: str) -> None:
        """Refuse at start what would be refused at every delivery.

        Raises:
            ValueError: the URL's host is an address that the guard refuses.
        """
        try:
            self.guard.check_host(urlsplit(url).hostname or "")
        except EgressRefused as error:
            raise ValueError(str(error)) from None

    async def send(
        self, method: str, url: str, headers: list[tuple[str, str]], body: bytes = b"", *, whole: bool = False
    ) -> Reply:
        """Send one request, once.

        Args:
            method: in capitals.
            url: absolute.
            headers: all but ``host`` and ``content-length``.
            body: its bytes.
            whole: the reply's body is needed too; else a slow or long one is left unread.

        Raises:
            NoReply: nothing usable came in time.
        """
        try:
            request = PlainRequest(method, parsed_url(url), headers, body, self._extensions)
        except (httpx.InvalidURL, UnicodeError):  # only a URL whose file changed under us
            raise NoReply("the URL that its file holds now is none") from None
        try:
            async with asyncio.timeout(self._timeouts.total):
                return await self._exchange(request, whole=whole)
        except TimeoutError:
            raise NoReply(f"{_place(request)}: no answer within {self._timeouts.total:g} s") from None
        except httpx.TransportError as error:
            raise NoReply(f"{_place(request)}: {error}") from error

    async def _exchange(self, request: httpx.Request, *, whole: bool) -> Reply:
        response = await self._transport.handle_async_request(request)
        try:
            body = await _whole(response) if whole else await _start(response)
        finally:
            await response.aclose()
        return Reply(response.status_code, response.headers, body)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


def _place(request: httpx.Request) -> str:
    return host_of(str(request.url))


def _extension(timeouts: Timeouts) -> dict[str, float]:
    return {"connect": timeouts.connect, "read": timeouts.read, "write": timeouts.write, "pool": timeouts.pool}


async def _start(response: httpx.Response) -> bytes:
    """The body's start; the status has already decided, so nothing that happens here is an error."""
    body = b""
    if response.is_stream_consumed:  # a transport that reads by itself, such as httpx.MockTransport
        return response.content[:_CAP]
    if response.status_code in (204, 304) or response.headers.get("content-length") == "0":
        return body
    try:
        async with asyncio.timeout(_PATIENCE):
            async for piece in response.aiter_raw():
                body += piece
                if len(body) >= _CAP:
                    break
    except (TimeoutError, httpx.TransportError, httpx.StreamError):
        pass
    return body[:_CAP]


async def _whole(response: httpx.Response) -> bytes:
    body = b""
    if response.is_stream_consumed:
        return response.content
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > _WHOLE:
            raise httpx.ReadError(f"the answer is longer than {_WHOLE} bytes")
    return body


def _transport(settings: WebSettings, guard: EgressGuard) -> httpx.AsyncBaseTransport:
    # Each library is heavy and only one of them is used; a transport that is given needs neither.
    if settings.http2:
        from consumers.sinks.web.http2 import Http2Transport  # noqa: PLC0415

        return Http2Transport(settings, guard=guard)
    from consumers.sinks.web.transport import AiohttpTransport  # noqa: PLC0415

    return AiohttpTransport(settings, guard=guard)
