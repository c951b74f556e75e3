"""Error answers of the API server, as the errors of this house: the one place that knows the codes."""

import math
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from kamaji_events.errors import ClusterError, ClusterRefused, ClusterUnavailable, KindMissing, ResourceExpired
from publisher.observation import Status
from publisher.watch.ask import Ask

__all__ = ["AskInvalidError", "CredentialsRefusedError", "failure", "retry_after", "status_failure"]

_MOST = 256
"""Characters of a server's message that are carried on."""
_INVALID = {HTTPStatus.BAD_REQUEST, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_ACCEPTABLE}
_INVALID |= {HTTPStatus.UNSUPPORTED_MEDIA_TYPE, HTTPStatus.UNPROCESSABLE_ENTITY}


class AskInvalidError(ClusterError):
    """400, 405, 406, 415 or 422: this server does not know this way of asking."""


class CredentialsRefusedError(ClusterRefused):
    """401: the server does not know us, whatever we ask."""


class _Details(msgspec.Struct):
    retryAfterSeconds: float | None = None  # noqa: N815 - the API's own spelling


class _Body(msgspec.Struct):
    kind: str = ""
    message: str = ""
    reason: str = ""
    details: _Details | None = None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After header; None when there is none or it is no finite number.

    API servers send seconds; a date, as some proxies send it, is treated as absent.
    """
    return _seconds(headers.get("Retry-After"))


def _seconds(value: str | float | None) -> float | None:
    try:
        seconds = float(value) if value is not None else None
    except ValueError:
        return None
    return seconds if seconds is not None and math.isfinite(seconds) and seconds >= 0 else None


def failure(code: int, headers: Mapping[str, str], body: bytes, ask: Ask, server: str) -> ClusterError:
    """The error that an answer other than 200 means.

    Args:
        code: HTTP status code.
        headers: the answer's; looked up without regard to case by the mapping itself.
        body: a Kubernetes ``Status``, or whatever stands between sent instead; may be empty.
        ask: what was asked.
        server: the server's address.
    """
    said = _read(body)
    asked = said.details.retryAfterSeconds if said.details else None
    wait = retry_after(headers)
    return _error(code, _clean(said.message) or _phrase(code), ask, server, wait if wait is not None else asked)


def status_failure(status: Status, ask: Ask, server: str) -> ClusterError:
    """The error that an ERROR line in a 200 stream means."""
    return _error(status.code, _clean(status.message) or _clean(status.reason), ask, server, status.retry_after)


def _error(code: int, message: str, ask: Ask, server: str, wait: float | None) -> ClusterError:
    match code:
        case HTTPStatus.UNAUTHORIZED:
            return CredentialsRefusedError(f"{server} does not accept the credentials (401: {message})")
        case HTTPStatus.FORBIDDEN:
            return ClusterRefused(f"{server} forbids {ask.rule}: {message}")
        case HTTPStatus.NOT_FOUND:
            return KindMissing(f"{ask.target or ask.path} is not served by {server}: is the CRD installed?")
        case HTTPStatus.GONE:
            return ResourceExpired(f"{ask.verb} {ask.target or ask.path}: {message}")
        case _ if code in _INVALID:
            return AskInvalidError(
                f"{server} does not understand {ask.verb} {ask.target or ask.path}: {code} {message}"
            )
        case _:
            text = f"{server} answered {code} to {ask.verb} {ask.target or ask.path}: {message}"
            return ClusterUnavailable(text, retry_after=wait)


def _read(body: bytes) -> _Body:
    try:
        said = msgspec.json.decode(body, type=_Body)
    except msgspec.DecodeError:
        return _Body()
    return said if said.kind == "Status" else _Body()


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "no reason given"


def _clean(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST else f"{line[:_MOST]}…"
