"""What the demo's receiver hears: shown, kept in the ledger, and waited for."""

import asyncio
import sys
import time
from collections.abc import Callable

from kamaji_events.cli.demo.ledger import Ledger
from kamaji_events.cli.lines import line
from kamaji_events.event import Event

__all__ = ["Heard"]

_UNSHOWN = frozenset(("publisher.state.alive", "publisher.sync.completed"))


class Heard:
    """Takes each new event of the receiver.

    Args:
        show: print a line for each.
    """

    def __init__(self, *, show: bool) -> None:
        self.ledger = Ledger()
        self.count = 0
        self._show = show
        self._colour = sys.stdout.isatty()
        self._changed = asyncio.Event()

    def take(self, event: Event) -> None:
        """A new event arrived."""
        self.count += 1
        self.ledger.heard(event, time.time())
        if self._show and f"{event.kind}.{event.name}" not in _UNSHOWN:
            sys.stdout.write(f"{line(event, colour=self._colour)}\n")
            sys.stdout.flush()
        self._changed.set()

    async def until(self, met: Callable[[], bool]) -> None:
        """Wait until something holds that only an event can bring about."""
        while not met():
            self._changed.clear()
            await self._changed.wait()

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing has come for so long."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                return
