"""Quotas: a subscription whose receiver takes nothing must not fill the broker's disk.

Over its quota it is unbound, loudly; what waits stays. When the queue is nearly empty again it is bound first and
then catches up from the history. AMQP tells only how many messages wait, so bytes are judged by the mean size of
those that this worker saw.
"""

import logging
import sys

from consumers import record as r
from consumers.desk import Desk
from consumers.policy import Quota
from consumers.state import Status, SubscriptionState
from consumers.wires import Wires
from kamaji_events.broker import declare
from kamaji_events.broker.rebinding import bind_again

__all__ = ["Keeper", "over_quota", "room"]

_log = logging.getLogger(__name__)

_MARGIN = 60.0
"""Seconds before the suspension from which the history is read: what was on its way when it was unbound."""
_LOW = 0.1
"""Share of the quota below which a suspended subscription is bound again."""


def over_quota(quota: Quota, *, waiting: int, mean_bytes: float, idle: float) -> str | None:
    """Why a subscription is over its quota, None when it is not.

    Args:
        quota: its own.
        waiting: messages in its queue.
        mean_bytes: of one.
        idle: seconds for which it has been paused or disabled with events waiting.
    """
    if quota.messages is not None and waiting > quota.messages:
        return f"{waiting} events wait, the quota is {quota.messages}"
    if quota.bytes is not None and waiting * mean_bytes > quota.bytes:
        return f"about {waiting * mean_bytes / 1e6:.0f} MB wait, the quota is {quota.bytes / 1e6:.0f} MB"
    if quota.age is not None and waiting and idle > quota.age:
        return f"nothing was delivered for {idle:.0f} s, the quota is {quota.age:.0f} s"
    return None


def room(quota: Quota, mean_bytes: float) -> int:
    """Copies from the history that may wait: half the quota, else copying itself would suspend the subscription.

    Args:
        quota: the subscription's.
        mean_bytes: of one copy; 0 when none was made yet.
    """
    few = sys.maxsize if quota.messages is None else quota.messages // 2
    small = sys.maxsize if quota.bytes is None or not mean_bytes else int(quota.bytes / mean_bytes / 2)
    return min(few, small)


def _low(quota: Quota, waiting: int, mean_bytes: float) -> bool:
    few = quota.messages is None or waiting <= quota.messages * _LOW
    small = quota.bytes is None or waiting * mean_bytes <= quota.bytes * _LOW
    return few and small


class Keeper:
    """Keeps one subscription within its quota.

    Args:
        desk: tells of it on the exchange, and knows how large its events are.
        wires: the session.
    """

    def __init__(self, desk: Desk, wires: Wires) -> None:
        self._desk = desk
        self._wires = wires
        self._subscription = desk.subscription

    async def look(self, waiting: int) -> None:
        """Suspend, bind again, or begin with the history, as the state calls for."""
        state = self._wires.board.get(self._subscription.name)
        if not state.version or state.removed:
            return
        quota, mean = self._subscription.policy.quota, self._desk.mean_bytes
        if state.suspended is not None:
            if state.status is Status.ACTIVE and _low(quota, waiting, mean):
                await self._bind_again(state, state.suspended - _MARGIN)
            else:
                await self._unbind(state)
        elif state.wants_history is not None:
            await self._bind_again(state, self._wires.clock() - state.wants_history)
        else:
            idle = 0.0 if state.status is Status.ACTIVE else self._wires.clock() - state.since
            why = over_quota(quota, waiting=waiting, mean_bytes=mean, idle=idle)
            if why is not None:
                await self._suspend(state, why)
            else:
                await self._stay_bound(state)

    async def _suspend(self, state: SubscriptionState, why: str) -> None:
        """Written down first: a worker that dies in between leaves it to the next look to unbind."""
        name, now = self._subscription.name, self._wires.clock()
        before, _ = await self._wires.board.append(
            r.Suspended(subscription=name, at=now, by=self._wires.worker, error=why)
        )
        await self._unbind(state)
        if before.suspended is None:
            _log.error("suspended, over its quota: %s", why, extra={"subscription": name})
            await self._desk.say("state.suspended", error=why)

    async def _stay_bound(self, state: SubscriptionState) -> None:
        """By what the board says: during a rollout another worker may have a newer file."""
        house, name = self._wires.house, self._subscription.name
        back = house.return_binding(name, state.version)
        await bind_again(self._wires.publishing, (back, *house.bindings(name, state.version, state.keys)))

    async def _unbind(self, state: SubscriptionState) -> None:
        bindings = self._wires.house.bindings(self._subscription.name, state.version, state.keys)
        await declare.unbind(self._wires.publishing, bindings)

    async def _bind_again(self, state: SubscriptionState, since: float) -> None:
        name = self._subscription.name
        await declare.bind(self._wires.publishing, self._wires.house.bindings(name, state.version, state.keys))
        mark = await self._desk.say("state.resumed", reason=("Bound", "it is bound and catches up from the history"))
        bound = r.Bound(subscription=name, at=self._wires.clock(), by=self._wires.worker, since=since, until_id=mark)
        await self._wires.board.append(bound)
        _log.info("bound, catching up from the history", extra={"subscription": name})
