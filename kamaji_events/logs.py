"""Structured logs: lines for people on a terminal, JSON for machines, always one line a record.

Modules log through ``logging.getLogger(__name__)`` and pass ids as ``extra``: every extra becomes a field. Nobody
logs a secret, a body or a kubeconfig; an exception is its type, its text and the place it came from, and its
stack only at level debug.
"""

import asyncio
import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TextIO

__all__ = ["JsonFormatter", "TextFormatter", "configure", "watch_loop"]

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_COLOURS = {"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[1;31m", "DEBUG": "\x1b[2m"}
_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_NOISY = ("aio_pika", "aiohttp.access", "httpx", "httpcore", "asyncio", "kubernetes")
"""Libraries whose warnings are enough."""

_log = logging.getLogger(__name__)


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _when(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _error(record: logging.LogRecord) -> str | None:
    """The record's exception in one line; the innermost of a group of one."""
    error = record.exc_info[1] if record.exc_info else None
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if error is None:
        return None
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return " ".join(f"{type(error).__name__}: {error}".split()) + place


def _stack(record: logging.LogRecord) -> str | None:
    if record.exc_info is None or record.exc_info[1] is None or not logging.root.isEnabledFor(logging.DEBUG):
        return None
    return "".join(traceback.format_exception(record.exc_info[1]))


class JsonFormatter(logging.Formatter):
    """``{"time", "level", "logger", "message", ...extras, "error"}`` in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object."""
        fields: dict[str, Any] = {
            "time": _when(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extras(record),
        }
        found = {"error": _error(record), "stack": _stack(record)}
        fields |= {name: value for name, value in found.items() if value is not None}
        return json.dumps(fields, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """``12:30:01.250 warning  what happened  id=… queue=…``; colour where ``colour`` is on."""

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """One line, two spaces between its parts."""
        words = [_when(record).strftime("%H:%M:%S.%f")[:-3], self._level(record), _one_line(record.getMessage())]
        extras = " ".join(f"{key}={_one_line(str(value))}" for key, value in _extras(record).items())
        if extras:
            words.append(f"{_DIM}{extras}{_RESET}" if self._colour else extras)
        if (error := _error(record)) is not None:
            words.append(f"[{error}]")
        stack = _stack(record)
        return "  ".join(words) + (f"\n{stack.rstrip()}" if stack else "")

    def _level(self, record: logging.LogRecord) -> str:
        name = f"{record.levelname.lower():7}"
        colour = _COLOURS.get(record.levelname) if self._colour else None
        return f"{colour}{name}{_RESET}" if colour else name


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def configure(
    level: str = "info", form: Literal["auto", "text", "json"] = "auto", *, stream: TextIO | None = None
) -> None:
    """Set up the root logger and catch what nobody catches, in one line each.

    Args:
        level: least severity that is logged.
        form: ``auto`` is text on a terminal and JSON otherwise.
        stream: standard error by default.
    """
    out = stream or sys.stderr
    terminal = out.isatty()
    handler = logging.StreamHandler(out)
    text = form == "text" or (form == "auto" and terminal)
    handler.setFormatter(TextFormatter(colour=terminal) if text else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.root.level))
    logging.getLogger("aiormq").setLevel(logging.ERROR)  # each lost connection is told by its owner, with the reason
    logging.captureWarnings(capture=True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: _log.critical(
        "a thread died of an error that nobody caught", exc_info=args.exc_value
    )


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    _log.critical("stopped by an error that nobody caught", exc_info=(kind, error, trace))


def watch_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Log in one line what a callback or a forgotten task of this loop raises."""

    def handler(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        _log.error("in the event loop: %s", context.get("message"), exc_info=context.get("exception"))

    loop.set_exception_handler(handler)
