"""What a task group raised, taken apart: the one error that tells why, and a cancellation that must not be lost."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["apart", "first_of", "only"]

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")


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


async def apart(work: Coroutine[Any, Any, T]) -> T:
    """Do something in a task of its own, as if it were awaited here: for whoever goes on after it failed.

    Before Python 3.13 a task group that fails swallows a cancellation of its task that comes meanwhile, and one that
    fails while it is waited for leaves its task counted as being cancelled for ever. Either ends with that task.

    Raises:
        asyncio.CancelledError: this task is to end; the work was cancelled and has ended.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    return task.result()
