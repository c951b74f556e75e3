"""Asking a receiver that is down whether it is back: one worker, one event, at growing intervals.

The event stays in the prober's hand between probes and keeps its place: closing the channel returns it. A failed
probe is no try. Who probes is settled on the board by a claim with a lease, which a dead worker does not renew.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from consumers import record as r
from consumers.breaker import probe_interval
from consumers.decision import Disable, Slow, StayPaused
from consumers.desk import Case, Desk
from consumers.inbox import Inbox, ordered_consumer
from consumers.ordered import OrderedDesk
from consumers.state import Status, SubscriptionState
from consumers.wires import Wires
from kamaji_events.broker.consume import Incoming

__all__ = ["Probe"]

_log = logging.getLogger(__name__)

_LEASE = 15.0
"""Seconds, beyond what a probe may take, after which a silent prober's claim ends: so long a receiver that is back is
not noticed when its prober was killed."""
_IN_HAND = 900.0
"""Seconds that one event is held at most: RabbitMQ closes a channel whose acknowledgement takes half an hour."""
_LOOK = 30.0


class Probe:
    """Probes one subscription's receiver.

    Args:
        desk: handles its events.
        wires: the session.
        stays: False when the worker wants to end.
    """

    def __init__(self, desk: Desk, wires: Wires, stays: Callable[[], bool]) -> None:
        self._desk = desk
        self._wires = wires
        self._stays = stays
        self._name = desk.subscription.name
        self._policy = desk.subscription.policy

    @property
    def _state(self) -> SubscriptionState:
        return self._wires.board.get(self._name)

    def _ours(self) -> bool:
        """True while the subscription is paused and this worker is its prober."""
        state = self._state
        return self._stays() and state.status is Status.PAUSED and state.prober == self._wires.worker

    async def run(self) -> None:
        """One claim and what comes of it; returns when the state may have changed."""
        state, now = self._state, self._wires.clock()
        if state.probe_at is None:
            await self._wires.board.news(_LOOK)
            return
        theirs = state.prober not in ("", self._wires.worker) and state.probe_lease > now
        wait = state.probe_lease - now if theirs else state.probe_at - now
        if wait > 0:
            await self._wires.board.news(min(wait, _LOOK))
            return
        await self._claim()
        if self._ours():
            await self._with_one_event()

    async def _claim(self) -> None:
        now = self._wires.clock()
        claim = r.ProbeClaimed(subscription=self._name, at=now, by=self._wires.worker, until=self._lease(now))
        await self._wires.board.append(claim)

    def _lease(self, now: float) -> float:
        return now + self._policy.timeout + _LEASE

    async def _with_one_event(self) -> None:
        version = self._state.version or 1
        queue = self._wires.house.layout.queue(self._name, version)
        async with self._messages(queue) as messages:
            case = await self._next(messages)
            if case is not None:
                await self._ask_until_known(case, self._wires.clock() + _IN_HAND)

    @asynccontextmanager
    async def _messages(self, queue: str) -> AsyncIterator[AsyncIterator[Incoming]]:
        if isinstance(self._desk, OrderedDesk):
            async with ordered_consumer(self._wires.consuming, queue) as consumer:
                await self._desk.mark("end")
                yield (letter.incoming async for letter in Inbox(consumer))
        else:
            async with self._wires.consuming.consume(queue, 1) as consumer:
                yield consumer

    async def _next(self, messages: AsyncIterator[Incoming]) -> Case | None:
        """The next event that is due; None when there is none while the claim holds."""
        try:
            async with asyncio.timeout(_LEASE / 2):
                async for incoming in messages:
                    if not self._ours():
                        return None
                    if (case := await self._desk.opened(incoming)) is not None:
                        return case
        except TimeoutError:
            return None
        return None

    async def _ask_until_known(self, case: Case, until: float) -> None:
        while self._ours() and self._wires.clock() < until:
            left = (self._state.probe_at or 0.0) - self._wires.clock()
            if left > 0:
                await self._wires.board.news(left)
            elif await self._ask(case):
                return

    async def _ask(self, case: Case) -> bool:
        """One probe; True when the event is settled."""
        outcome = await self._desk.attempt(case, probe=True)
        decision = await self._desk.settle(case, outcome, probe=True)
        match decision:
            case StayPaused():
                interval = probe_interval(self._policy.circuit, self._state.probes + 1)
                wait = max(interval, min(decision.retry_after or 0.0, self._policy.retry_after_cap))
                await self._failed(decision.error, wait)
                return False
            case Slow():
                await self._failed(decision.error, decision.after)
            case Disable():
                pass
            case _:
                await self._desk.resumed()
        return True

    async def _failed(self, error: str, wait: float) -> None:
        now = self._wires.clock()
        failed = r.ProbeFailed(
            subscription=self._name,
            at=now,
            by=self._wires.worker,
            error=error,
            probe_at=now + wait,
            until=self._lease(now + wait),
        )
        await self._wires.board.append(failed)
        _log.info(
            "the receiver is still down, next probe in %.0f s: %s", wait, error, extra={"subscription": self._name}
        )
