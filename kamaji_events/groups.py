"""What a task group raised, taken apart: the one error that tells why, and a cancellation that must not be lost."""

import asyncio
from typing import TypeVar

__all__ = ["first_of", "only", "pass_cancellation"]

E = TypeVar("E", bound=BaseException)


def first_of(error: BaseException, kind: type[E]) -> E:
    """The first error of a kind in what a task group raised.

    Raises:
        BaseException: what else there is, when anything else is there: a fault of ours is never taken for a known one.
    """
    if isinstance(error, kind):
        return error
    if isinstance(error, BaseExceptionGroup):
        known, others = error.split(kind)
        if others is not None:
            raise only(others)
        if known is not None:
            return first_of(known.exceptions[0], kind)
    raise error


def only(error: BaseException) -> BaseException:
    """The one error inside groups of one; a group of several stays as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def pass_cancellation() -> None:
    """Go on with a cancellation that a task group swallowed: before Python 3.13 one that fails meanwhile does.

    Raises:
        asyncio.CancelledError: somebody wants this task to end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
