"""Standard Webhooks signatures: ``v1`` (HMAC-SHA256) and ``v1a`` (ed25519), several keys at once for rotation.

Signed is ``<webhook-id>.<webhook-timestamp>.<body>``. Since id and timestamp must be told apart from the body by the
dots, the id has none: an event's own id is written with ``:`` in their place.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Ed25519Key", "HmacKey", "SigningKey", "ed25519_key", "hmac_key", "message_id", "signature"]

_HMAC, _PRIVATE, _PUBLIC = "whsec_", "whsk_", "whpk_"
_PLAIN_ID = re.compile(r"[A-Za-z0-9_~.-]{1,200}")
_CURE = "make one with: echo whsec_$(openssl rand -base64 32)"


class SigningKey(Protocol):
    """One key of a signature."""

    def sign(self, content: bytes) -> str:
        """One part of ``webhook-signature``, e.g. ``v1,<base64>``."""


class HmacKey:
    """A shared secret."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, content: bytes) -> str:
        """``v1,<base64>``."""
        return "v1," + binascii.b2a_base64(hmac.digest(self._key, content, "sha256"), newline=False).decode("ascii")


class Ed25519Key:
    """A private key; receivers need only the public one."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)

    def sign(self, content: bytes) -> str:
        """``v1a,<base64>``."""
        return "v1a," + base64.b64encode(self._key.sign(content)).decode("ascii")

    def public(self) -> str:
        """``whpk_<base64>``: what receivers verify with."""
        return _PUBLIC + base64.b64encode(self._key.public_key().public_bytes_raw()).decode("ascii")


def hmac_key(text: str) -> HmacKey:
    """Read a secret: ``whsec_`` and base64 of 24 to 64 bytes.

    Raises:
        ValueError: it is none; the text says which known mistake it is, and never shows the secret.
    """
    for prefix in ("v1,", "v1a,"):
        if text.startswith(prefix):
            raise ValueError(f"the signing secret starts with {prefix!r}: leave that out, it begins with 'whsec_'")
    if text[:1] in "\"'" and text[:1]:
        raise ValueError("the signing secret stands in quotation marks: leave them out")
    if text.startswith((_PRIVATE, _PUBLIC)):
        raise ValueError(f"the signing secret starts with {text[:5]!r}: that is an ed25519 key, see signature.ed25519")
    if not text.startswith(_HMAC):
        raise ValueError(f"the signing secret does not start with 'whsec_': {_CURE}")
    key = _decoded(text.removeprefix(_HMAC), "the signing secret")
    if key.startswith(_HMAC.encode()):
        raise ValueError("the signing secret was base64-encoded as a whole, 'whsec_' included: decode it once")
    if not 24 <= len(key) <= 64:  # noqa: PLR2004 - the specification's bounds
        raise ValueError(f"the signing secret has {len(key)} bytes, 24 to 64 are needed: {_CURE}")
    return HmacKey(key)


def ed25519_key(text: str) -> Ed25519Key:
    """Read a private key: ``whsk_`` and base64 of the 32-byte seed, or of seed and public key (64 bytes).

    Raises:
        ValueError: it is none.
    """
    if text.startswith(_PUBLIC):
        raise ValueError("this is a public key (whpk_): signing needs the private one (whsk_)")
    if not text.startswith(_PRIVATE):
        raise ValueError("the ed25519 key does not start with 'whsk_'")
    key = _decoded(text.removeprefix(_PRIVATE), "the ed25519 key")
    if len(key) not in (32, 64):
        raise ValueError(f"the ed25519 key has {len(key)} bytes: 32 (the seed) or 64 (seed and public key) are needed")
    made = Ed25519Key(key[:32])
    if len(key) == 64 and _decoded(made.public().removeprefix(_PUBLIC), "") != key[32:]:  # noqa: PLR2004
        raise ValueError("the ed25519 key's two halves do not belong together")
    return made


def _decoded(text: str, what: str) -> bytes:
    if "-" in text or "_" in text:
        raise ValueError(f"{what} is URL-safe base64: write '+' and '/' for '-' and '_'")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{what} is no base64: {_CURE}") from None


def message_id(event_id: str) -> str:
    """``webhook-id`` of an event: the same for every try, without a dot, safe in a header.

    The publisher's ids keep their text with ``:`` for each dot; a foreign id with other letters becomes its hash.
    """
    if _PLAIN_ID.fullmatch(event_id):
        return event_id.replace(".", ":")
    return f"sha256:{sha256(event_id.encode()).hexdigest()}"


def signature(keys: Sequence[SigningKey], identifier: str, seconds: int, body: bytes) -> str:
    """``webhook-signature``: one part for each key, apart by spaces.

    Args:
        keys: all of them sign; a receiver is content with one that it knows.
        identifier: ``webhook-id``.
        seconds: ``webhook-timestamp``, since 1970.
        body: the very bytes that are sent.
    """
    content = b"%b.%d.%b" % (identifier.encode(), seconds, body)
    return " ".join(key.sign(content) for key in keys)
