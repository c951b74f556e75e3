"""What went wrong, in one line with the cure, and the exit code that says whose fault it was.

2: something the user gave cannot be used. 1: anything else. 130: Ctrl-C. A stack is shown only to who asks for it
with ``KAMAJI_EVENTS_DEBUG=1``.
"""

import errno
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from kamaji_events.errors import BrokerRefused, BrokerUnavailable, ClusterRefused, InputError, KamajiEventsError

__all__ = ["told"]

_CTRL_C = 130
_BROKEN_PIPE = 141
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_CURES: tuple[tuple[type[KamajiEventsError], str, str], ...] = (
    (BrokerRefused, "", "check user, password, vhost and permissions of AMQP_URL"),
    (BrokerUnavailable, "RabbitMQ at", "is RabbitMQ running there? AMQP_URL says where it is"),
    (ClusterRefused, "", "check the kubeconfig's credentials and the role of the user or service account"),
)
"""What a person can do about errors whose text only tells what happened: kind, words in the text, cure."""


@contextmanager
def told() -> Iterator[None]:
    """Turn whatever leaves a command into one line on standard error and an exit code."""
    try:
        yield
    except typer.Abort:
        raise
    except BaseException as error:
        if hasattr(error, "exit_code"):  # Exit and usage errors: the command line's own
            raise
        raise typer.Exit(_explain(_first(error))) from None


def _first(error: BaseException) -> BaseException:
    """The member of a group that explains most: of this project before others, Ctrl-C before all."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [_first(member) for member in error.exceptions]
    return min(leaves, key=_rank)


def _rank(error: BaseException) -> int:
    ranks = (KeyboardInterrupt, InputError, KamajiEventsError, Exception)
    return next((rank for rank, kind in enumerate(ranks) if isinstance(error, kind)), len(ranks))


def _explain(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return _CTRL_C
    if isinstance(error, BrokenPipeError):  # `kamaji-events tail | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if os.environ.get("KAMAJI_EVENTS_DEBUG"):
        traceback.print_exception(error)
    _say(_line(error))
    return 2 if isinstance(error, InputError) else 1


def _say(line: str) -> None:
    """To whoever reads standard error: a service's log collector wants JSON there."""
    logs = sys.modules.get("kamaji_events.logs")
    formatters = [handler.formatter for handler in logging.root.handlers]
    if logs is not None and any(isinstance(formatter, logs.JsonFormatter) for formatter in formatters):
        logging.getLogger("kamaji_events").critical("%s", line)
    else:
        sys.stderr.write(f"kamaji-events: {line}\n")


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, KamajiEventsError):
        cure = next((cure for kind, words, cure in _CURES if isinstance(error, kind) and words in text), None)
        return f"error: {text}" + (f"; {cure}" if cure else "")
    if isinstance(error, OSError) and error.errno in _FULL:
        return f"error: {error.strerror}: what was written is not complete"
    return (
        f"internal error: {type(error).__name__}: {text}; set KAMAJI_EVENTS_DEBUG=1 to see where, and please report it"
    )
