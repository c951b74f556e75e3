"""A bearer token in a file that somebody else rotates, as the kubelet does for pods."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from kamaji_events.errors import SettingsError

__all__ = ["TokenFile"]

_log = logging.getLogger(__name__)

_FRESH = 60.0
"""Seconds after which the file is read again; the kubelet rotates at 80 % of the token's life."""


class TokenFile:
    """Reads the token, again and again.

    Args:
        path: the file.
        clock: seconds, monotonic.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._token: str | None = None
        self._read_at = 0.0

    def header(self) -> str:
        """The Authorization header's value.

        Raises:
            SettingsError: the file could never be read, or is empty.
        """
        if self._token is None or self._clock() - self._read_at >= _FRESH:
            self._token = self._read(self._token)
            self._read_at = self._clock()
        return f"Bearer {self._token}"

    def forget(self) -> None:
        """Read the file at the next ``header``; the old token stays for the case that it cannot be."""
        self._read_at = -_FRESH + self._clock()

    def _read(self, former: str | None) -> str:
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            return self._or_former(former, reason, error)
        return token or self._or_former(former, "it is empty", None)

    def _or_former(self, former: str | None, reason: str, cause: Exception | None) -> str:
        if former is None:
            raise SettingsError(f"token file {self._path} cannot be used: {reason}") from cause
        _log.warning("token file cannot be read, going on with the former token: %s", reason)
        return former
