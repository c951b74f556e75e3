"""Settings of the sink ``webhook``."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from consumers.sinks.gather import BatchSettings
from consumers.sinks.secret import Secret, Text
from consumers.sinks.settings import SinkSettings
from consumers.sinks.web.auth import AuthSettings
from consumers.sinks.web.settings import HttpUrl, WebSettings
from consumers.sinks.webhook.handshake import HandshakeSettings
from consumers.sinks.webhook.judge import Verdict
from consumers.sinks.webhook.signature import ed25519_key, hmac_key
from consumers.sinks.webhook.template import TemplateSettings

__all__ = ["SignatureSettings", "WebhookSettings"]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TAKEN = frozenset(
    ("host", "content-length", "content-type", "transfer-encoding", "connection", "user-agent", "idempotency-key")
)


def _hmac(secret: Secret) -> Secret:
    for text in secret.values():
        hmac_key(text)
    return secret


def _ed25519(secret: Secret) -> Secret:
    for text in secret.values():
        ed25519_key(text)
    return secret


class SignatureSettings(SinkSettings):
    """Standard Webhooks: every key signs, so that receivers can change theirs at leisure."""

    secrets: tuple[Annotated[Secret, AfterValidator(_hmac)], ...] = ()
    """``whsec_`` secrets for HMAC (``v1``); one file may hold several, apart by white space."""
    ed25519: tuple[Annotated[Secret, AfterValidator(_ed25519)], ...] = ()
    """``whsk_`` private keys (``v1a``)."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.secrets and not self.ed25519:
            raise ValueError("needs secrets or ed25519")
        return self


class WebhookSettings(WebSettings):
    """What stands under ``webhook:`` in a subscription."""

    url: HttpUrl
    """Where events are posted."""
    mode: Literal["structured", "binary", "batched"] = "structured"
    """How the CloudEvents HTTP binding puts an event into a request; batched sends several together."""
    batch: BatchSettings = BatchSettings()
    """Bounds of a batch."""
    template: TemplateSettings | None = None
    """A body of the receiver's own shape instead of the event."""
    signature: SignatureSettings | None = None
    """None leaves requests unsigned."""
    auth: AuthSettings | None = None
    """Who the worker is to the receiver."""
    handshake: HandshakeSettings | None = None
    """Ask the receiver first, as CloudEvents' web hook specification says; None does not."""
    headers: dict[str, Text] = Field(default_factory=dict)
    """Headers of your own; secret ones from a file or the environment."""
    statuses: dict[int, Verdict] = Field(default_factory=dict)
    """What single statuses mean to this receiver, e.g. ``{409: delivered, 422: rejected}``."""

    @field_validator("headers")
    @classmethod
    def _free_names(cls, headers: dict[str, Text]) -> dict[str, Text]:
        for name, text in headers.items():
            lower = name.lower()
            if not _TOKEN.fullmatch(name):
                raise ValueError(f"{name!r} is no header's name")
            if lower in _TAKEN or lower.startswith(("webhook-", "ce-")):
                raise ValueError(f"{name!r} is written by the sink itself")
            if not text.value().isprintable() or not text.value().isascii():
                raise ValueError(f"the value of {name!r} must be printable ASCII")
        return headers

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.template is not None and self.mode != "structured":
            raise ValueError("template and mode do not go together: a template makes the whole body")
        if self.auth is not None and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("auth and a header 'Authorization' do not go together")
        return self

    @field_validator("statuses")
    @classmethod
    def _real(cls, statuses: dict[int, Verdict]) -> dict[int, Verdict]:
        for status in statuses:
            if not 200 <= status <= 599:  # noqa: PLR2004 - final statuses
                raise ValueError(f"{status} is no status that ends a request")
        return statuses
