"""Who the worker is to a receiver: bearer, basic, or OAuth2 client credentials."""

import asyncio
import base64
from collections.abc import Callable
from typing import Literal, Protocol, Self
from urllib.parse import quote, urlencode

import orjson
from pydantic import model_validator

from consumers.sinks.secret import Secret
from consumers.sinks.settings import SinkSettings
from consumers.sinks.web.client import NoReply, Reply, WebClient, host_of, user_agent
from consumers.sinks.web.settings import HttpUrl

__all__ = ["Auth", "AuthSettings", "BasicSettings", "OAuth2Settings", "make_auth"]

_EARLY = 30.0
"""Most seconds before its end that a token is replaced."""
_DEFAULT_LIFE = 300.0
"""Of a token that does not say how long it lives."""


class BasicSettings(SinkSettings):
    """User and password."""

    username: str
    """The user."""
    password: Secret
    """The password."""


class OAuth2Settings(SinkSettings):
    """The client credentials grant (RFC 6749, 4.4)."""

    token_url: HttpUrl
    """Where tokens are given."""
    client_id: str
    """The client."""
    client_secret: Secret
    """Its secret."""
    scope: str | None = None
    """Scopes, apart by spaces."""
    audience: str | None = None
    """What some servers want to know besides."""
    client_auth: Literal["basic", "body"] = "basic"
    """Whether the client's credentials go into a header or into the body."""


class AuthSettings(SinkSettings):
    """Exactly one way."""

    bearer: Secret | None = None
    """A token, sent as ``Authorization: Bearer``."""
    basic: BasicSettings | None = None
    """User and password."""
    oauth2: OAuth2Settings | None = None
    """A token that is fetched and renewed."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if [self.bearer, self.basic, self.oauth2].count(None) != 2:  # noqa: PLR2004 - of three
            raise ValueError("needs exactly one of bearer, basic and oauth2")
        return self


class Auth(Protocol):
    """Gives the ``authorization`` header."""

    async def header(self) -> str:
        """The header's value.

        Raises:
            NoReply: a token could not be got.
        """

    def refused(self, header: str) -> bool:
        """The receiver answered 401 to this header. True when asking again with a new one makes sense."""


class _Fixed:
    """A header made of secrets that files may rotate."""

    def __init__(self, made: Callable[[], str]) -> None:
        self._made = made

    async def header(self) -> str:
        return self._made()

    def refused(self, header: str) -> bool:
        return self._made() != header  # rotated meanwhile


class _OAuth2:
    """Keeps a token until shortly before it ends; asked for once, however many deliveries wait for it."""

    def __init__(self, settings: OAuth2Settings, client: WebClient, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._lock = asyncio.Lock()
        self._token = ""
        self._until = 0.0

    async def header(self) -> str:
        async with self._lock:
            if not self._token or self._clock() >= self._until:
                await self._fetch()
            return f"Bearer {self._token}"

    def refused(self, header: str) -> bool:
        """A token that was refused is not used again; one that came meanwhile stays."""
        if header == f"Bearer {self._token}":
            self._token = ""
        return True

    async def _fetch(self) -> None:
        url = self._settings.token_url.value()
        headers, form = self._question()
        reply = await self._client.send("POST", url, headers, urlencode(form).encode(), whole=True)
        token, life = _token(reply, url)
        self._token, self._until = token, self._clock() + life - min(_EARLY, life / 10)

    def _question(self) -> tuple[list[tuple[str, str]], dict[str, str]]:
        settings = self._settings
        form = {"grant_type": "client_credentials", "scope": settings.scope, "audience": settings.audience}
        headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("accept", "application/json"),
            ("accept-encoding", "identity"),
            ("user-agent", user_agent()),
        ]
        secret = settings.client_secret.value()
        if settings.client_auth == "basic":  # both parts form-encoded first: RFC 6749, 2.3.1
            headers.append(("authorization", _basic(quote(settings.client_id, safe=""), quote(secret, safe=""))))
        else:
            form |= {"client_id": settings.client_id, "client_secret": secret}
        return headers, {key: value for key, value in form.items() if value is not None}


def _token(reply: Reply, url: str) -> tuple[str, float]:
    """The token and its life in seconds; only OAuth2's own error word is shown, never the body."""
    try:
        found = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        found = None
    found = found if isinstance(found, dict) else {}
    token, life = found.get("access_token"), found.get("expires_in", _DEFAULT_LIFE)
    if reply.status != 200 or not isinstance(token, str) or not token.isascii() or not token.isprintable():  # noqa: PLR2004
        said = found.get("error")
        word = f": {said[:80]}" if isinstance(said, str) and said.isprintable() else ""
        raise NoReply(f"no OAuth2 token: {host_of(url)} answered {reply.status}{word}")
    try:
        return token, max(0.0, float(life))
    except (TypeError, ValueError):
        return token, _DEFAULT_LIFE


def _basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode("ascii")


def make_auth(settings: AuthSettings, client: WebClient, clock: Callable[[], float]) -> Auth:
    """The way that the settings ask for.

    Args:
        settings: exactly one way.
        client: what tokens are fetched with: the receiver's own guard, proxy and TLS.
        clock: seconds since 1970.
    """
    if settings.oauth2 is not None:
        client.check_url(settings.oauth2.token_url.value())
        return _OAuth2(settings.oauth2, client, clock)
    if settings.basic is not None:
        basic = settings.basic
        return _Fixed(lambda: _basic(basic.username, basic.password.value()))
    bearer = settings.bearer
    assert bearer is not None  # noqa: S101 - the settings' own condition
    return _Fixed(lambda: f"Bearer {bearer.value()}")
