"""Libraries' errors are mapped in one place, and a new one in a library is noticed."""

import aiohttp
import httpcore
import httpx
import pytest

from consumers.sinks.web import errors
from consumers.sinks.web.errors import as_httpx

_NEVER = {
    # Of websockets, of redirects that are not followed, of raise_for_status, of URLs that were checked before.
    "ClientError",
    "InvalidURL",
    "InvalidUrlClientError",
    "InvalidUrlRedirectClientError",
    "NonHttpUrlClientError",
    "NonHttpUrlRedirectClientError",
    "RedirectClientError",
    "UploadAbortedError",
}


def _descendants(kind: type[BaseException]) -> set[type[BaseException]]:
    return {kind}.union(*(_descendants(one) for one in kind.__subclasses__()))


def test_every_error_of_aiohttp_has_a_row() -> None:
    """A class that aiohttp adds must be looked at: give it a row, or name it here."""
    rows = tuple(row[0] for row in errors._ROWS)
    unmapped = {
        kind.__name__
        for kind in _descendants(aiohttp.ClientError)
        if kind.__module__.startswith("aiohttp") and not issubclass(kind, rows)
    }
    assert unmapped <= _NEVER


def test_every_error_of_httpcore_is_known_to_httpx_by_its_name() -> None:
    """HTTP/2's errors are mapped by their names."""
    bases = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError)
    for base in bases:
        for kind in _descendants(base):
            assert issubclass(getattr(httpx, kind.__name__), httpx.TransportError)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (TimeoutError(), httpx.ReadTimeout, "no answer in time"),
        (
            ConnectionResetError(104, "x"),
            httpx.RemoteProtocolError,
            "the connection was lost: connection reset by peer",
        ),
        (aiohttp.InvalidURL("https://h/secret"), httpx.TransportError, "the request could not be sent: InvalidURL"),
        (KeyError("x"), httpx.TransportError, "the request could not be sent: KeyError"),
    ],
)
def test_texts_are_ours(error: BaseException, kind: type[Exception], told: str) -> None:
    """No library's text is passed on: theirs hold URLs."""
    made = as_httpx(error)
    assert type(made) is kind
    assert str(made) == told
