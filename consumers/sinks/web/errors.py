"""aiohttp's errors as httpx's: the one place where they are mapped.

Their own texts are not passed on: they hold whole URLs, and so tokens.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import httpx

from consumers.sinks.web.egress import EgressRefused

__all__ = ["CAUGHT", "as_httpx", "mapped"]

CAUGHT = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""What ``as_httpx`` knows."""


def _os_reason(error: BaseException) -> str:
    if not isinstance(error, EgressRefused) and isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()  # asyncio's own text repeats the address instead
    return str(error)[:300]


def _verify_reason(error: Any) -> str:
    inner = error.certificate_error
    return getattr(inner, "verify_message", "") or str(inner)[:200]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:80]


_Row = tuple[type[BaseException], type[httpx.TransportError], Callable[[Any], str]]

_ROWS: tuple[_Row, ...] = (
    # The first row that fits counts: subclasses stand above their bases.
    (aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout, lambda _: "no connection in time"),
    (TimeoutError, httpx.ReadTimeout, lambda _: "no answer in time"),
    (
        aiohttp.ClientConnectorDNSError,
        httpx.ConnectError,
        lambda error: f"its name cannot be resolved: {error.os_error.strerror or 'unknown'}",
    ),
    (
        aiohttp.ClientConnectorCertificateError,
        httpx.ConnectError,
        lambda error: f"its certificate is not trusted: {_verify_reason(error)}",
    ),
    (
        aiohttp.ClientProxyConnectionError,
        httpx.ProxyError,
        lambda error: f"cannot connect to the proxy: {_os_reason(error.os_error)}",
    ),
    (aiohttp.ClientHttpProxyError, httpx.ProxyError, lambda error: f"the proxy answered {error.status}"),
    (aiohttp.ClientConnectorError, httpx.ConnectError, lambda error: _os_reason(error.os_error)),
    (aiohttp.ServerDisconnectedError, httpx.RemoteProtocolError, lambda _: "it closed before an answer"),
    (aiohttp.ClientPayloadError, httpx.ReadError, lambda _: "the answer was cut off"),
    (
        aiohttp.ClientResponseError,
        httpx.ReadError,
        lambda error: f"the answer is no HTTP: {_one_line(error.message)}",
    ),
    (EgressRefused, httpx.ConnectError, str),
    (OSError, httpx.RemoteProtocolError, lambda error: f"the connection was lost: {_os_reason(error)}"),
    (aiohttp.ClientConnectionError, httpx.ReadError, lambda _: "the connection was lost"),
)


def as_httpx(error: BaseException) -> httpx.TransportError:
    """The httpx error that says the same; one unknown to the table is told by its class only."""
    for kind, made, told in _ROWS:
        if isinstance(error, kind):
            return made(told(error))
    return httpx.TransportError(f"the request could not be sent: {type(error).__name__}")


@contextlib.contextmanager
def mapped() -> Iterator[None]:
    """Within it aiohttp's errors, and those of sockets, come out as httpx's."""
    try:
        yield
    except CAUGHT as error:
        raise as_httpx(error) from error
