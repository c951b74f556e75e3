"""One worker at a time at one message: of several that have news of it, the others come again a moment later.

Without it two workers that hear of an operation at once would begin two threads, and the slower one could turn a
message back to an older state.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from consumers.sinks.base import Throttled
from consumers.sinks.context import Memory
from consumers.sinks.slack.refusal import SlackRefused

__all__ = ["turn"]

_LEASE = 90.0
"""Seconds after which a worker's turn ends that died in it: longer than an answer and an update may take."""
_SOON = 2.0


@asynccontextmanager
async def turn(memory: Memory, key: str) -> AsyncIterator[None]:
    """Within it no other worker says anything under this key, and what others have noted before is known.

    Raises:
        SlackRefused: it is another worker's.
    """
    mine, name = uuid4().bytes, f"{key}.turn"
    if await memory.claim(name, mine, keep=_LEASE) != mine:
        raise SlackRefused(Throttled("another worker is at this message", retry_after=_SOON))
    try:
        yield
    finally:
        await memory.delete(name)
