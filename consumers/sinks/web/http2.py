"""HTTP/2 by httpcore behind httpx's transport seam, with the same egress guard.

For receivers that want HTTP/2: many deliveries share one connection there. One that only has HTTP/1.1 is served too,
but slower than by ``web.transport``.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, cast

import httpcore
import httpx

from consumers.sinks.web.egress import EgressGuard, EgressRefused
from consumers.sinks.web.settings import WebSettings
from consumers.sinks.web.tls import TlsFiles

__all__ = ["Http2Transport"]


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves names itself, judges each address and connects to the first that is let through and answers."""

    def __init__(self, guard: EgressGuard, user_timeout_ms: int) -> None:
        self._guard = guard
        self._inner = httpcore.AnyIOBackend()
        self._options = [(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, user_timeout_ms)]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        failed: Exception | None = None
        for address in await _resolved(host, port, timeout):
            try:
                self._guard.check(address)
                return await self._inner.connect_tcp(address, port, timeout, local_address, self._options)
            except EgressRefused as error:
                failed = httpcore.ConnectError(str(error))
            except httpcore.ConnectError as error:
                failed = error
        raise failed or httpcore.ConnectError("its name cannot be resolved")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


async def _resolved(host: str, port: int, limit: float | None) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(limit):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise httpcore.ConnectTimeout("its name was not resolved in time") from None
    except OSError as error:
        raise httpcore.ConnectError(f"its name cannot be resolved: {error.strerror or error}") from error
    return list(dict.fromkeys(str(info[4][0]) for info in found))


@contextlib.contextmanager
def _mapped() -> Iterator[None]:
    """Httpcore's errors as httpx's: they have the same names."""
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
        kind = getattr(httpx, type(error).__name__, httpx.TransportError)
        raise kind(str(error)[:300] or type(error).__name__) from error


class Http2Transport(httpx.AsyncBaseTransport):
    """An ``httpx`` transport that offers HTTP/2.

    Args:
        settings: as for ``AiohttpTransport``.
        guard: judges each address.

    Raises:
        ValueError: the package ``h2`` is missing, or a proxy is asked for, or a TLS file cannot be used.
    """

    def __init__(self, settings: WebSettings, *, guard: EgressGuard) -> None:
        try:
            import h2  # noqa: F401, PLC0415 - only to tell that it is missing
        except ImportError:
            raise ValueError("http2 needs the package h2: install kamaji-events[http2]") from None
        if settings.proxy is not None:
            raise ValueError("http2 and proxy do not go together: proxies are spoken to in HTTP/1.1")
        self._sni = settings.tls.server_name
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=TlsFiles(settings.tls, http2=True).context(),
            max_connections=settings.connections,
            keepalive_expiry=60.0,
            http1=True,
            http2=True,
            network_backend=_GuardedBackend(guard, int(settings.timeouts.write * 1000)),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the reply's body is read from its stream."""
        url = request.url
        extensions = {**request.extensions, **({"sni_hostname": self._sni} if self._sni else {})}
        sent = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=cast("AsyncIterator[bytes]", request.stream),
            extensions=extensions,
        )
        with _mapped():
            reply = await self._pool.handle_async_request(sent)
        return httpx.Response(reply.status, headers=reply.headers, stream=_Body(reply), extensions=reply.extensions)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, reply: httpcore.Response) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _mapped():
            async for piece in cast("AsyncIterator[bytes]", self._reply.stream):
                yield piece

    async def aclose(self) -> None:
        with _mapped():
            await self._reply.aclose()
