"""Questions that the judge has and only the API server can answer: asked a few at a time."""

import asyncio
from collections.abc import Awaitable, Callable

from publisher.buffer import ChangeBuffer
from publisher.lifecycle.looks import Look, LookAnswer

__all__ = ["Questions"]

Answer = Callable[[Look], Awaitable[LookAnswer]]


class Questions:
    """Asks and puts the answers into the buffer, where they are judged in turn with everything else.

    Args:
        answer: asks the API server, and says what could not be found out instead of raising.
        at_once: questions asked at the same time.
    """

    def __init__(self, answer: Answer, *, at_once: int = 8) -> None:
        self._answer = answer
        self._at_once = at_once
        self._open: dict[Look, None] = {}
        self._waiting: asyncio.Queue[Look] = asyncio.Queue()  # bounded by what is open: a look waits in it once

    def ask(self, look: Look) -> None:
        """Ask, unless the same question is open already."""
        if look not in self._open:
            self._open[look] = None
            self._waiting.put_nowait(look)

    async def run(self, buffer: ChangeBuffer) -> None:
        """Answer until cancelled; what was open then is asked again by the next run."""
        self._waiting = asyncio.Queue()
        for look in self._open:
            self._waiting.put_nowait(look)
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._work(buffer))

    async def _work(self, buffer: ChangeBuffer) -> None:
        while True:
            look = await self._waiting.get()
            answer = await self._answer(look)
            self._open.pop(look, None)
            await buffer.put(answer)

    def forget(self) -> None:
        """Forget all questions: the judge who had them is gone."""
        self._open.clear()
        self._waiting = asyncio.Queue()
