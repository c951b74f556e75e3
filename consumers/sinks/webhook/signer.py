"""The signature's headers, with keys that follow their files."""

import logging
from collections.abc import Callable

from consumers.sinks.secret import Secret
from consumers.sinks.webhook.settings import SignatureSettings
from consumers.sinks.webhook.signature import SigningKey, ed25519_key, hmac_key, signature

__all__ = ["Signer"]

_log = logging.getLogger(__name__)


class _Keys:
    """The keys of one secret; parsed again only when its text changed."""

    def __init__(self, secret: Secret, parse: Callable[[str], SigningKey]) -> None:
        self._secret = secret
        self._parse = parse
        self._text = ""
        self._keys: tuple[SigningKey, ...] = ()

    def now(self) -> tuple[SigningKey, ...]:
        text = self._secret.value()
        if text != self._text:
            try:
                self._keys = tuple(self._parse(part) for part in text.split())
            except ValueError as error:
                _log.warning("a rotated signing key cannot be used, going on with the one before: %s", error)
            self._text = text
        return self._keys


class Signer:
    """Signs what is sent."""

    def __init__(self, settings: SignatureSettings) -> None:
        self._sources = [
            *(_Keys(secret, hmac_key) for secret in settings.secrets),
            *(_Keys(secret, ed25519_key) for secret in settings.ed25519),
        ]

    def sign(self, identifier: str, seconds: int, body: bytes) -> str:
        """``webhook-signature`` of a body."""
        return signature([key for source in self._sources for key in source.now()], identifier, seconds, body)
