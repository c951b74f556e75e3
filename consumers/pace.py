"""How fast a subscription goes: its rate, the pauses that a receiver asks for, and the quiet hours."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from consumers.policy import QuietHours

__all__ = ["Pace", "quiet_until"]


def quiet_until(spans: Sequence[QuietHours], now: float) -> float | None:
    """When the quiet hours end that hold at ``now``; None outside of them. Seconds since 1970."""
    ends = [end for span in spans if (end := _end_of(span, now)) is not None]
    return max(ends, default=None)


def _end_of(span: QuietHours, now: float) -> float | None:
    here = datetime.fromtimestamp(now, span.zone)
    for day in (here.date() - timedelta(days=1), here.date()):
        start = datetime.combine(day, span.start, span.zone)
        last = day if span.end > span.start else day + timedelta(days=1)
        end = datetime.combine(last, span.end, span.zone)
        if start.timestamp() <= now < end.timestamp():
            return end.timestamp()
    return None


class Pace:
    """Lets tries through one by one.

    Args:
        rate: tries a second; None is no bound.
        clock: seconds, any beginning.
        sleep: waits.
    """

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0
        self._hold = 0.0

    @property
    def held(self) -> bool:
        """True while the receiver's wish to wait is honoured."""
        return self._hold > self._clock()

    def hold(self, until: float) -> None:
        """No try before ``until``."""
        self._hold = max(self._hold, until)

    async def wait(self) -> None:
        """Wait for one's turn."""
        turn = max(self._next, self._clock())
        self._next = turn + self._gap
        while (left := max(turn, self._hold) - self._clock()) > 0:
            await self._sleep(left)
