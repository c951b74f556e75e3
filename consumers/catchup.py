"""Catching up from the history: what a subscription missed while it was unbound, or wants as a beginning.

It is bound first, and the event that tells of it is the mark up to which the history is read: that one and all
later ones came by the binding. Copies are possible, gaps are not, as long as the history reaches back far enough;
when it does not, that is said loudly. One worker copies; it notes on the board how far it is, so that another can
go on.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from consumers import record as r
from consumers.config import Subscription
from consumers.headers import Travel
from consumers.post import again
from consumers.quota import room
from consumers.state import CatchUp
from consumers.wires import Wires
from kamaji_events.broker import declare
from kamaji_events.broker.consume import Consumer, Incoming
from kamaji_events.errors import EnvelopeError, TopologyMissing
from kamaji_events.event import Event

__all__ = ["catch_up"]

_log = logging.getLogger(__name__)

_PREFETCH = 500
_LEASE = 60.0
_STUCK = 30.0
"""Seconds of silence that count as the end, although the mark has not come."""
_BATCH = 200
_ROOM = 20_000
"""Copies that may wait in the queue before copying pauses, where the quota does not say less."""
_BREATH = 2.0


async def catch_up(wires: Wires, subscription: Subscription) -> None:
    """Claim and copy, when there is something to catch up and nobody else does it; returns when done or not ours."""
    name = subscription.name
    wanted = wires.board.get(name).catch_up
    if wanted is None or (wanted.worker not in ("", wires.worker) and wanted.lease > wires.clock()):
        return
    now = wires.clock()
    claim = r.CatchUpClaimed(subscription=name, at=now, by=wires.worker, until=now + _LEASE)
    _, after = await wires.board.append(claim)
    if after.catch_up is None or after.catch_up.worker != wires.worker:
        return
    copied = await _Copier(wires, subscription).copy(after.catch_up)
    if copied is not None:
        await wires.board.append(r.CaughtUp(subscription=name, at=wires.clock(), by=wires.worker, copied=copied))
        _log.info("caught up, %d events came from the history", copied, extra={"subscription": name})


class _Copier:
    """Copies one subscription's events from the history into its queue."""

    def __init__(self, wires: Wires, subscription: Subscription) -> None:
        self._wires = wires
        self._subscription = subscription
        self._name = subscription.name
        self._quota = subscription.policy.quota
        self._copied = 0
        self._bytes = 0

    @property
    def _room(self) -> int:
        return min(_ROOM, room(self._quota, self._bytes / max(1, self._copied)))

    async def copy(self, wanted: CatchUp) -> int | None:
        """Copy up to the mark.

        Returns:
            How many matched; None when another worker took over.
        """
        offset: Any = wanted.offset + 1 if wanted.offset >= 0 else datetime.fromtimestamp(wanted.since, UTC)
        arguments = {"x-stream-offset": offset}
        history = self._wires.house.layout.history
        async with self._wires.reading.consume(history, _PREFETCH, arguments=arguments) as consumer:
            first, batch = True, list[Incoming]()
            async for incoming in _until_silent(consumer):
                if first and wanted.offset < 0:
                    self._check_reach(incoming, wanted.since)
                first = False
                if incoming.properties.message_id == wanted.until_id:
                    await self._pass_on(batch)
                    return self._copied
                if _second(incoming) >= int(wanted.since):
                    batch.append(incoming)
                if len(batch) >= min(_BATCH, max(1, self._room)):
                    await self._pass_on(batch)
                    if not await self._moved(incoming):
                        return None
                    batch = []
            _log.warning("the history ended before its mark", extra={"subscription": self._name})
            await self._pass_on(batch)
            return self._copied

    def _check_reach(self, incoming: Incoming, since: float) -> None:
        """The stream begins later than wanted: what was in between is gone."""
        begins_late = _offset(incoming) > 0 and _second(incoming) > since + 1
        if begins_late:
            _log.error(
                "the history no longer reaches back to %s: events before %s are lost to this subscription",
                datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
                datetime.fromtimestamp(_second(incoming), UTC).isoformat(timespec="seconds"),
                extra={"subscription": self._name},
            )

    async def _pass_on(self, batch: list[Incoming]) -> None:
        returns = self._wires.house.layout.returns
        headers = Travel(catch_up=True).write()
        wanted = [incoming for incoming in batch if self._wants(incoming)]
        copies = [again(incoming, routing_key=self._name, headers=headers) for incoming in wanted]
        await self._wires.publisher.publish_many(copies, exchange=returns)
        self._copied += len(copies)
        self._bytes += sum(len(copy.body) for copy in copies)

    def _wants(self, incoming: Incoming) -> bool:
        try:
            return self._subscription.filter.matches(Event.from_bytes(incoming.body))
        except EnvelopeError:
            return False

    async def _moved(self, incoming: Incoming) -> bool:
        """Note how far it is and wait for room; False when the claim is lost."""
        state = await self._note(incoming)
        while state and await self._waiting() > self._room:
            await self._wires.board.news(_BREATH)
            state = await self._note(incoming)
        return state

    async def _note(self, incoming: Incoming) -> bool:
        now = self._wires.clock()
        moved = r.CatchUpMoved(
            subscription=self._name, at=now, by=self._wires.worker, offset=_offset(incoming), until=now + _LEASE
        )
        _, after = await self._wires.board.append(moved)
        return after.catch_up is not None and after.catch_up.worker == self._wires.worker

    async def _waiting(self) -> int:
        version = self._wires.board.get(self._name).version or 1
        try:
            return await declare.message_count(
                self._wires.consuming, self._wires.house.layout.queue(self._name, version)
            )
        except TopologyMissing:
            return 0


def _offset(incoming: Incoming) -> int:
    return int(incoming.headers.get("x-stream-offset", 0))


def _second(incoming: Incoming) -> float:
    """The event's time in whole seconds, as AMQP carries it; what has none counts as new."""
    moment = incoming.properties.timestamp
    return moment.timestamp() if moment is not None else float("inf")


async def _until_silent(consumer: Consumer) -> AsyncIterator[Incoming]:
    while True:
        try:
            async with asyncio.timeout(_STUCK):
                incoming = await anext(consumer)
        except TimeoutError:
            return
        await incoming.ack()
        yield incoming
