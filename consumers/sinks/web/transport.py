"""Bytes by aiohttp behind httpx's transport seam.

httpx's own pool costs 5 ms of CPU a request at 50 connections, growing with their number; aiohttp's 0.15. Only the
transport's seam is used, not ``httpx.AsyncClient``: its cookies, redirects and URL merging cost another 0.4 ms and
are not wanted here. So what a sink needs is any ``httpx.AsyncBaseTransport``: this one, ``web.http2``'s, or
``httpx.MockTransport`` in a test.

Each connection's resolved address passes the egress guard where its socket is made.
"""

import asyncio
import base64
import contextlib
import socket
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import aiohttp
import httpx

from consumers.sinks.web.egress import EgressGuard
from consumers.sinks.web.errors import CAUGHT, as_httpx, mapped
from consumers.sinks.web.request import PlainRequest
from consumers.sinks.web.settings import WebSettings
from consumers.sinks.web.tls import TlsFiles

__all__ = ["AiohttpTransport"]

_OURS = frozenset((b"content-length", b"transfer-encoding", b"host"))
"""Headers that aiohttp writes itself."""
_IDLE = 4.0
"""Seconds after which an idle connection is not used again: below Node's 5 s, so that it is rarely cut under us."""

_made: ContextVar[list[str]] = ContextVar("_made")
"""The addresses to which the running request made connections; none when it went over a kept one."""

_AddrInfo = tuple[Any, Any, int, str, Any]


class AiohttpTransport(httpx.AsyncBaseTransport):
    """An ``httpx`` transport on one ``aiohttp.ClientSession``.

    The request's ``timeout`` extension (connect, read, write, pool) is honoured as httpx does. Redirects are never
    followed, cookies never kept, bodies never decompressed. The session is opened by the first request.

    Args:
        settings: TLS, proxy, number of connections, and how long the receiver's machine may take what was sent.
        guard: judges each address; with a proxy the proxy resolves names, so only literal addresses are judged.

    Raises:
        ValueError: a TLS file cannot be used.
    """

    def __init__(self, settings: WebSettings, *, guard: EgressGuard) -> None:
        self._settings = settings
        self._guard = guard
        self._tls = TlsFiles(settings.tls)
        self._write_ms = int(settings.timeouts.write * 1000)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._closed = False

    def _session(self, *, fresh: bool) -> aiohttp.ClientSession:
        """The session that keeps connections, or the one that makes a new one for each request."""
        if self._closed:
            raise RuntimeError("the transport is closed")
        if fresh not in self._sessions:
            keep: dict[str, Any] = {"force_close": True} if fresh else {"keepalive_timeout": _IDLE}
            connector = aiohttp.TCPConnector(
                limit=self._settings.connections, ttl_dns_cache=10, socket_factory=self._socket, **keep
            )
            self._sessions[fresh] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
            )
        return self._sessions[fresh]

    def _socket(self, info: _AddrInfo) -> socket.socket:
        """The one place where a connection begins: with its address resolved, whatever the name was."""
        family, kind, protocol, _, address = info
        _made.get().append(str(address[0]))
        if self._settings.proxy is None:
            self._guard.check(str(address[0]))
        made = socket.socket(family, kind, protocol)
        with contextlib.suppress(OSError, AttributeError):  # Linux only: elsewhere the total timeout bounds writing
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, self._write_ms)
        return made

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the reply's body is read from its stream."""
        if self._settings.proxy is not None:
            with mapped():
                self._guard.check_host(request.url.host)
        made: list[str] = []
        _made.set(made)
        try:
            return await self._sent(request)
        except httpx.RemoteProtocolError:
            # A kept connection that the receiver closed while it was idle: it never saw the request. Not a try of
            # the receiver, so once more on a new connection; ids let it drop a copy should it have seen it.
            if made:
                raise
            return await self._sent(request, fresh=True)

    async def _sent(self, request: httpx.Request, *, fresh: bool = False) -> httpx.Response:
        headers, body = (request.plain, request.body) if isinstance(request, PlainRequest) else await _plain(request)
        try:
            reply = await self._session(fresh=fresh).request(
                request.method,
                str(request.url),
                data=body or None,
                headers=headers,
                allow_redirects=False,
                timeout=_timeout(request.extensions.get("timeout", {})),
                ssl=self._tls.context() if request.url.scheme == "https" else True,
                server_hostname=self._settings.tls.server_name,
                **self._through(),
            )
        except CAUGHT as error:
            raise as_httpx(error) from error
        return httpx.Response(reply.status, headers=list(reply.raw_headers), stream=_Body(reply), request=request)

    def _through(self) -> dict[str, Any]:
        """The proxy, as arguments of a request."""
        proxy = self._settings.proxy
        if proxy is None:
            return {}
        if proxy.username is None or proxy.password is None:
            return {"proxy": proxy.url.value()}
        pair = base64.b64encode(f"{proxy.username}:{proxy.password.value()}".encode()).decode("ascii")
        return {"proxy": proxy.url.value(), "proxy_headers": {"proxy-authorization": f"Basic {pair}"}}

    async def aclose(self) -> None:
        """Close every connection."""
        self._closed = True
        # whole, also when who waits is cancelled once more: a session that is never closed says so when it is collected
        await asyncio.shield(asyncio.gather(*(session.close() for session in self._sessions.values())))


class _Body(httpx.AsyncByteStream):
    """A reply's body; what is not read when it is closed costs its connection, never memory."""

    def __init__(self, reply: aiohttp.ClientResponse) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with mapped():
            async for piece in self._reply.content.iter_any():
                yield piece

    async def aclose(self) -> None:
        if self._reply.content.at_eof():
            self._reply.release()
        else:
            self._reply.close()


async def _plain(request: httpx.Request) -> tuple[list[tuple[str, str]], bytes]:
    raw = [(name, value) for name, value in request.headers.raw if name.lower() not in _OURS]
    return [(name.decode("ascii"), value.decode("latin-1")) for name, value in raw], await request.aread()


def _timeout(given: dict[str, float | None]) -> aiohttp.ClientTimeout:
    connect, pool = given.get("connect"), given.get("pool")
    both = connect + pool if connect is not None and pool is not None else None
    return aiohttp.ClientTimeout(total=None, connect=both, sock_connect=connect, sock_read=given.get("read"))
