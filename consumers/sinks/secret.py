"""Secrets in a sink's settings: named, never written down.

A settings file is committed, shown and logged, so a secret stands in it only by the name of its place::

    bearer: {fromFile: /etc/secrets/token}     # read again when the file changes
    bearer: {fromEnv: PAGER_TOKEN}

A plain string is refused, with the cure. ``Text`` is for what only may be secret (URLs, headers): there a plain
string is taken as it is.
"""

import logging
import os
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

__all__ = ["Secret", "Text"]

_log = logging.getLogger(__name__)

_CURE = "write {fromFile: /path/of/the/secret} or {fromEnv: NAME_OF_A_VARIABLE}"

_Stamp = tuple[int, int, int]


class Secret(BaseModel):
    """A secret by the name of its place.

    It is read when the settings are, so that a missing one is told at start, and read again whenever its file
    changes (Kubernetes and Vault agents rotate files). A file that cannot be read any more keeps what was known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    from_env: str | None = Field(default=None, alias="fromEnv", min_length=1)
    """The name of an environment variable."""
    from_file: Path | None = Field(default=None, alias="fromFile")
    """The path of a file; white space around its content does not count."""

    _known: str = PrivateAttr(default="")
    _stamp: _Stamp | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _no_plain_string(cls, given: Any) -> Any:
        if isinstance(given, (str, int, float)):
            raise ValueError(f"a secret must not stand in the settings: {_CURE}")  # noqa: TRY004 - pydantic's way
        return given

    @model_validator(mode="after")
    def _read_once(self, info: ValidationInfo) -> Self:
        self._open(info.context)
        return self

    def _open(self, context: Any) -> None:
        if (self.from_env is None) == (self.from_file is None):
            raise ValueError(f"needs exactly one of fromFile and fromEnv: {_CURE}")
        if self.from_env is not None:
            self._known = (context or {}).get("environ", os.environ).get(self.from_env, "").strip()
            if not self._known:
                raise ValueError(f"the environment variable {self.from_env} is not set or is empty")
            return
        try:
            self._read_file()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read {self.from_file}: {_reason(error)}") from None
        if not self._known:
            raise ValueError(f"{self.from_file} is empty")

    def _read_file(self) -> None:
        assert self.from_file is not None  # noqa: S101 - the callers' condition
        found = self.from_file.stat()
        stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
        if stamp != self._stamp:
            text = self.from_file.read_text(encoding="utf-8").strip()
            self._stamp = stamp  # a file caught half written is read again when it is whole: its stamp moves
            self._known = text or self._known

    def value(self) -> str:
        """The secret as it is now."""
        if self.from_file is not None:
            try:
                self._read_file()
            except (OSError, UnicodeDecodeError) as error:
                _log.warning("cannot read %s, going on with what it held: %s", self.from_file, _reason(error))
        return self._known

    def __str__(self) -> str:
        return f"fromFile {self.from_file}" if self.from_file is not None else f"fromEnv {self.from_env}"

    def values(self) -> tuple[str, ...]:
        """Several secrets in one place, apart by white space: how a file rotates without a moment of only one."""
        return tuple(self.value().split())


class Text(Secret):
    """A text that may be secret: a plain string, or a place like a secret's."""

    plain: str | None = None
    """The text itself."""

    @model_validator(mode="before")
    @classmethod
    def _no_plain_string(cls, given: Any) -> Any:
        return {"plain": given} if isinstance(given, str) else given

    def __str__(self) -> str:
        return super().__str__() if self.plain is None else self.plain

    def _open(self, context: Any) -> None:
        if self.plain is None:
            super()._open(context)
        elif self.from_env is not None or self.from_file is not None:
            raise ValueError("needs one of a plain text, fromFile and fromEnv")
        else:
            self._known = self.plain.strip()


def _reason(error: Exception) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "not UTF-8 text"
