"""A TLS context that follows its files: cert-manager and agents rotate them under a running worker."""

import ssl
from pathlib import Path

from consumers.sinks.web.settings import TlsSettings

__all__ = ["TlsFiles"]

_Stamp = tuple[tuple[int, int, int], ...]


class TlsFiles:
    """Makes an ``ssl.SSLContext``, another one after a file changed.

    Args:
        settings: which files.
        http2: offer HTTP/2 in the handshake.

    Raises:
        ValueError: a file cannot be read or is no PEM of its kind; the text names it.
    """

    def __init__(self, settings: TlsSettings, *, http2: bool = False) -> None:
        self._settings = settings
        self._alpn = ["h2", "http/1.1"] if http2 else ["http/1.1"]
        self._paths = tuple(path for path in (settings.ca, settings.cert, settings.key) if path is not None)
        self._stamp = self._stamped()
        self._context = self._made()

    def _stamped(self) -> _Stamp:
        try:
            found = [path.stat() for path in self._paths]
        except OSError as error:
            raise ValueError(f"tls: cannot read {error.filename}: {error.strerror}") from None
        return tuple((one.st_mtime_ns, one.st_ino, one.st_size) for one in found)

    def _made(self) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.create_default_context(cafile=_pem(settings.ca)) if settings.ca else ssl.create_default_context()
        context.set_alpn_protocols(self._alpn)
        if settings.cert is None:
            return context
        password = settings.key_password.value() if settings.key_password else ""
        try:
            # An empty password, and never None: with None an encrypted key would ask on the terminal.
            context.load_cert_chain(settings.cert, settings.key, password=password)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"tls: cert {settings.cert} with key {settings.key or settings.cert}: {_reason(error)}"
            ) from None
        return context

    def context(self) -> ssl.SSLContext:
        """The context for the next connection; files that are broken now keep the one before.

        The cost when nothing changed is one ``stat`` a file.
        """
        if not self._paths:
            return self._context
        try:
            stamp = self._stamped()
            if stamp != self._stamp:
                self._context = self._made()
                self._stamp = stamp
        except ValueError:
            pass  # half a rotation: a certificate without its key yet; looked at again for the next request
        return self._context


def _pem(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii", errors="replace")
        ssl.create_default_context().load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:
        raise ValueError(f"tls: ca {path}: {_reason(error)}") from None
    return str(path)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"no PEM of this kind, or they do not belong together ({error.reason or 'unreadable'})"
    return getattr(error, "strerror", None) or str(error)
