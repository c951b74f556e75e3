"""How the API server is reached and who we are there: one value, replaced as a whole when anything of it changes."""

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from cryptography import x509

from kamaji_events.errors import SettingsError

__all__ = ["Access", "Credentials", "certificate_end", "tls_context"]


@dataclass(frozen=True, slots=True)
class Access:
    """Everything that one request needs."""

    server: str
    """``https://host:port``, perhaps with a path, without a slash at the end."""
    origin: str
    """Where this comes from, for messages: a file and its context, or the pod."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    """None for plain HTTP."""
    authorization: str | None = field(default=None, repr=False)
    """The Authorization header's value."""
    server_name: str | None = None
    """Name that the server's certificate must carry when it is not the address's."""
    proxy: str | None = field(default=None, repr=False)
    """Proxy of the kubeconfig; None leaves it to the environment."""
    certificate_ends: datetime | None = None
    """When the client certificate expires."""

    def excuse(self, now: datetime) -> str:
        """Why the server may not accept these credentials, as far as they tell."""
        if self.certificate_ends is not None and self.certificate_ends <= now:
            return f"the client certificate of {self.origin} expired at {self.certificate_ends:%Y-%m-%d %H:%M} UTC"
        if self.authorization is None and self.certificate_ends is None:
            return f"{self.origin} holds no credentials"
        return f"credentials of {self.origin}; they may have expired"


class Credentials(Protocol):
    """Gives access, and keeps it fresh."""

    async def access(self) -> Access:
        """The access of now; cheap to call for every request.

        Raises:
            SettingsError: what it comes from is missing or unusable.
        """

    def forget(self) -> None:
        """Read everything anew at the next ``access``: the server refused what was given."""


def tls_context(
    *, ca: str | Path | None, certificate: str | Path | None, key: str | Path | None, verify: bool
) -> ssl.SSLContext:
    """A client context.

    Args:
        ca: PEM file of authorities; the system's when None.
        certificate: PEM file of the client's certificate, None for none.
        key: its key's PEM file.
        verify: False trusts anybody.

    Raises:
        SettingsError: a file is missing or holds no usable certificate or key.
    """
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, keyfile=key)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or type(error).__name__
        raise SettingsError(f"certificate files cannot be used ({ca}, {certificate}): {reason}") from error
    # From Python 3.13 on; kubectl does not ask it of a cluster's own authority, and many would fail
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def certificate_end(path: str | Path | None) -> datetime | None:
    """When a PEM file's first certificate expires; None when that cannot be read."""
    if path is None:
        return None
    try:
        return x509.load_pem_x509_certificate(Path(path).read_bytes()).not_valid_after_utc.astimezone(UTC)
    except (OSError, ValueError):
        return None
