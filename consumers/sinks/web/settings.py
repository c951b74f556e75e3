"""Settings that every HTTP sink shares."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import httpx
from pydantic import AfterValidator, Field, model_validator

from consumers.sinks.secret import Secret, Text
from consumers.sinks.settings import SinkSettings
from consumers.sinks.web.egress import EgressSettings
from kamaji_events.duration import Duration

__all__ = ["HttpUrl", "ProxySettings", "Timeouts", "TlsSettings", "WebSettings", "http_url"]

_ODD_ADDRESS = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)\.?", re.IGNORECASE)
"""What some resolvers read as an address: 127.1, 2130706433, 0x7f000001."""


def http_url(text: str) -> str:
    """A URL that can be posted to.

    Raises:
        ValueError: it is none; the text never shows more than scheme and host, since paths hold tokens.
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
        httpx.URL(text)
    except (ValueError, httpx.InvalidURL):  # their texts repeat the URL
        raise ValueError("is no URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("must be a URL that starts with https:// or http:// and has a host")
    if _ODD_ADDRESS.fullmatch(host) and not _is_address(host):
        raise ValueError("its host looks like an address in an odd form: write four decimal numbers with dots")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a user and password: write them under auth.basic")
    if parts.fragment:
        raise ValueError("must not have a fragment (#...): it is never sent")
    if any(ord(letter) <= 32 or ord(letter) == 127 for letter in text):  # noqa: PLR2004 - white space and controls
        raise ValueError("must not have white space or control characters in it")
    return text


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _checked(given: Text) -> Text:
    http_url(given.value())
    return given


HttpUrl = Annotated[Text, AfterValidator(_checked)]
"""A URL in plain text, or from a file or the environment where its path is a secret (Slack, Teams)."""


class Timeouts(SinkSettings):
    """How long each part of a request may take."""

    connect: Duration = 5.0
    """Name, TCP and TLS."""
    read: Duration = 15.0
    """Between two pieces of the reply."""
    write: Duration = 10.0
    """Until the receiver's machine takes what was sent (on Linux, TCP_USER_TIMEOUT)."""
    pool: Duration = 10.0
    """For a free connection, when there are fewer than the deliveries at once."""
    total: Duration = 30.0
    """Everything together."""

    @model_validator(mode="after")
    def _no_zero(self) -> Self:
        if min(self.connect, self.read, self.write, self.pool, self.total) <= 0:
            raise ValueError("each timeout must be more than 0")
        return self


class TlsSettings(SinkSettings):
    """TLS towards the receiver. Files are read again when they change."""

    ca: Path | None = None
    """A PEM file of authorities to trust instead of the system's."""
    cert: Path | None = None
    """A PEM file with the client's certificate (mTLS)."""
    key: Path | None = None
    """A PEM file with its key; None looks for it in ``cert``."""
    key_password: Secret | None = None
    """The key's password."""
    server_name: str | None = None
    """The name that the receiver's certificate must have, when it is not the URL's host."""

    @model_validator(mode="after")
    def _files(self) -> Self:
        if self.cert is None and (self.key is not None or self.key_password is not None):
            raise ValueError("key and keyPassword need cert")
        return self


class ProxySettings(SinkSettings):
    """An HTTP proxy. It resolves the receiver's name, so it also decides where requests may go."""

    url: HttpUrl
    """E.g. ``http://proxy.example.com:3128``."""
    username: str | None = None
    """With ``password``: basic authentication."""
    password: Secret | None = None
    """See ``username``."""

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password belong together")
        return self


class WebSettings(SinkSettings):
    """What every HTTP sink understands."""

    timeouts: Timeouts = Timeouts()
    """How long each part of a request may take."""
    tls: TlsSettings = TlsSettings()
    """Authorities, client certificate."""
    proxy: ProxySettings | None = None
    """None connects directly, whatever HTTP_PROXY says."""
    egress: EgressSettings = EgressSettings()
    """Which addresses are let through."""
    http2: bool = False
    """HTTP/2 where the receiver has it; needs the extra ``kamaji-events[http2]``."""
    connections: int = Field(default=100, ge=1, le=10_000)
    """Most connections at once."""
