"""The API client: read-only requests over aiohttp, with fresh credentials and the errors of this house."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import aiohttp

from kamaji_events import __version__
from kamaji_events.errors import ClusterUnavailable, SettingsError
from publisher.watch.access import Access, Credentials
from publisher.watch.ask import Ask
from publisher.watch.proxies import environment_proxy
from publisher.watch.status import CredentialsRefusedError, failure

__all__ = ["Api"]

_CONNECT = 10.0
"""Seconds for a connection, TLS included."""
_ANSWER = 60.0
"""Seconds until an answer begins, and between two reads of a whole one."""
_ERROR_BODY = 64 * 1024
"""Bytes of an error answer that are looked at."""
_CHUNK = 256 * 1024
"""Bytes that wait in the client before the server is slowed down."""
_UNAUTHORIZED = HTTPStatus.UNAUTHORIZED


class Api:
    """One API server, asked read-only; an async context manager, also a ``Source`` for reflectors.

    Args:
        credentials: where access comes from; used once on entering, so that what is unusable is told at the start.

    Raises:
        SettingsError: on entering: kubeconfig, token or certificates cannot be used.
        ClusterRefused: on entering: a credentials plug-in failed.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._open: aiohttp.ClientSession | None = None
        self.server = ""
        """Its address, once entered."""
        self.renewals = 0
        """Times credentials were renewed after a 401."""

    async def __aenter__(self) -> Self:
        self.server = (await self._credentials.access()).server
        self._open = aiohttp.ClientSession(
            # Own proxy rules and no netrc: its Basic credentials would go out in place of ours
            trust_env=False,
            connector=aiohttp.TCPConnector(limit=32, ttl_dns_cache=30),
            headers={"User-Agent": f"kamaji-events/{__version__}"},
            read_bufsize=_CHUNK,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            await self._open.close()
            self._open = None

    async def get(self, ask: Ask) -> bytes:
        """See ``Source``."""
        async with self._asked(ask, read=_ANSWER) as response:
            with _reaching(self.server):
                return await response.read()

    @asynccontextmanager
    async def stream(self, ask: Ask) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``Source``; how long silence may last is the reader's business."""
        async with self._asked(ask, read=None) as response:
            yield self._chunks(response.content)

    async def _chunks(self, content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
        while True:
            with _reaching(self.server):
                chunk = await content.readany()
            if not chunk:
                return
            yield chunk

    @asynccontextmanager
    async def _asked(self, ask: Ask, *, read: float | None) -> AsyncIterator[aiohttp.ClientResponse]:
        """A 200 answer; a 401 renews the credentials once."""
        response = await self._send(ask, read)
        if response.status == _UNAUTHORIZED:
            response.close()
            self._credentials.forget()
            self.renewals += 1
            response = await self._send(ask, read)
        try:
            if response.status != HTTPStatus.OK:
                raise await self._failure(response, ask)
            yield response
        finally:
            # A finished answer gives its connection back to the pool, an unfinished one is cut
            response.release() if response.content.at_eof() else response.close()

    async def _send(self, ask: Ask, read: float | None) -> aiohttp.ClientResponse:
        if self._open is None:
            raise RuntimeError("the Api is not entered")
        access = await self._credentials.access()
        self.server = access.server
        with _reaching(access.server, self._credentials):
            async with asyncio.timeout(_ANSWER):
                return await self._open.get(
                    access.server + ask.path,
                    params=ask.params,
                    headers=_headers(ask, access),
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=read),
                    **_route(access),
                )

    async def _failure(self, response: aiohttp.ClientResponse, ask: Ask) -> Exception:
        with _reaching(self.server):
            async with asyncio.timeout(_CONNECT):
                body = await response.content.read(_ERROR_BODY)
        if response.status == _UNAUTHORIZED:
            access = await self._credentials.access()
            return CredentialsRefusedError(f"{access.server} answers 401: {access.excuse(datetime.now(UTC))}")
        return failure(response.status, response.headers, body, ask, self.server)


def _headers(ask: Ask, access: Access) -> dict[str, str]:
    headers = {"Accept": ask.accept}
    if access.authorization is not None:
        headers["Authorization"] = access.authorization
    if ask.verb == "watch":
        # A proxy that compresses a stream also holds it back
        headers["Accept-Encoding"] = "identity"
    return headers


def _route(access: Access) -> dict[str, Any]:
    route: dict[str, Any] = {"proxy": access.proxy or environment_proxy(access.server)}
    if access.tls is not None:
        route["ssl"] = access.tls
    if access.server_name is not None:
        route["server_hostname"] = access.server_name
    return route


@contextmanager
def _reaching(server: str, credentials: Credentials | None = None) -> Iterator[None]:
    """What aiohttp raises, as what it means here: the one place that knows."""
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        if credentials is not None:
            credentials.forget()  # the authority's file may have been replaced
        reason = getattr(error.certificate_error, "verify_message", "") or "not trusted"
        raise ClusterUnavailable(f"{server}: its certificate is not accepted: {reason}") from error
    except aiohttp.ClientProxyConnectionError as error:
        raise ClusterUnavailable(f"{server}: the proxy cannot be reached: {_reason(error)}") from error
    except aiohttp.ClientConnectorError as error:
        raise ClusterUnavailable(f"{server} cannot be reached: {_reason(error)}") from error
    except ValueError as error:  # aiohttp.InvalidURL is one too
        raise SettingsError(f"the address {server}, its proxy's or its token cannot be used") from error
    except aiohttp.ClientHttpProxyError as error:
        raise ClusterUnavailable(f"{server}: the proxy answers {error.status} {error.message}") from error
    except TimeoutError as error:
        raise ClusterUnavailable(f"{server} did not answer in time") from error
    except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
        raise ClusterUnavailable(f"{server}: the connection was lost ({type(error).__name__})") from error


def _reason(error: aiohttp.ClientConnectorError) -> str:
    cause = error.os_error
    if cause.errno and cause.errno > 0:
        return os.strerror(cause.errno)
    return cause.strerror or str(cause) or type(cause).__name__
