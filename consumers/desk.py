"""The desk: one event's way from the queue through a try to what follows from it."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from consumers import record as r
from consumers.breaker import Breaker, probe_interval
from consumers.config import Subscription
from consumers.decision import Ack, DeadLetter, Decision, Disable, Retry, Slow, StayPaused, decide
from consumers.headers import Death, Travel, redriven
from consumers.pace import Pace
from consumers.post import Post
from consumers.sinks.base import Delivery, Failed, Outcome, Rejected, Sink
from consumers.state import Status
from consumers.wires import Wires
from kamaji_events.broker.consume import Incoming
from kamaji_events.catalogue import Kind
from kamaji_events.errors import EnvelopeError
from kamaji_events.event import Event

__all__ = ["Case", "Desk"]

_log = logging.getLogger(__name__)

_SHORT = 30.0
"""Seconds: a receiver that asks to wait longer pauses its subscription, so that nothing is held here meanwhile."""

_MEAN_BYTES = 1500.0
_WORN = 900
"""Returns to the queue; the queue's delivery limit is 1,000."""


@dataclass(frozen=True, slots=True)
class Case:
    """An event that is due, with the message that brought it."""

    incoming: Incoming
    event: Event
    travel: Travel


class Desk:
    """Handles one subscription's events, one call each.

    Args:
        subscription: from the configuration.
        sink: its sink.
        wires: the session.
    """

    def __init__(self, subscription: Subscription, sink: Sink, wires: Wires) -> None:
        self.subscription = subscription
        self.wires = wires
        self.post = Post(wires.publisher, wires.house, subscription.name, clock=wires.clock)
        self.pace = Pace(subscription.policy.rate, wires.clock)
        self._sink = sink
        self._breaker = Breaker(subscription.policy.circuit)
        self._policy = subscription.policy
        self._name = subscription.name
        self.mean_bytes = _MEAN_BYTES
        """Of the events seen lately."""

    async def opened(self, incoming: Incoming) -> Case | None:
        """The event in a message; None when the message is dealt with already.

        A message whose time has not come makes another hop, one that the filter does not want is done with, and
        one that is no event is a dead letter.
        """
        travel = Travel.read(incoming.headers)
        self.mean_bytes += (len(incoming.body) - self.mean_bytes) / 100
        if self.post.waits(travel):
            await self.post.later(incoming, travel)
            return None
        try:
            event = Event.from_bytes(incoming.body)
        except EnvelopeError as error:
            await self._bury(incoming, travel, "Unreadable", str(error))
            return None
        if not (redriven(incoming.headers) or self.subscription.filter.matches(event)):
            await self.release(Case(incoming, event, travel))
            self.wires.metrics.skipped.labels(self._name).inc()
            await incoming.ack()
            return None
        return await self._not_worn(Case(incoming, event, travel))

    async def _not_worn(self, case: Case) -> Case | None:
        """An event that was given back often goes to the end as a fresh copy, before RabbitMQ gives it up."""
        given_back = case.incoming.headers.get("x-delivery-count", 0)
        if isinstance(given_back, int) and given_back > _WORN:
            await self.put_back(case)
            return None
        return case

    async def attempt(self, case: Case, *, probe: bool = False) -> Outcome:
        """Try once; whatever the sink does, an outcome comes of it within the policy's timeout."""
        metrics = self.wires.metrics
        delivery = Delivery(case.event, self._name, attempt=case.travel.tries + 1, probe=probe)
        with metrics.in_flight.labels(self._name).track_inprogress(), metrics.try_seconds.labels(self._name).time():
            outcome = await self._guarded(delivery)
        metrics.tries.labels(self._name, type(outcome).__name__.lower()).inc()
        return outcome

    async def _guarded(self, delivery: Delivery) -> Outcome:
        try:
            async with asyncio.timeout(self._policy.timeout):
                return await self._sink.deliver(delivery)
        except TimeoutError:
            return Failed(f"no outcome within {self._policy.timeout:g} s")
        except Exception as error:  # noqa: BLE001 - a fault in a sink is a failed try, never the end of the worker
            _log.exception("the sink raised", extra={"subscription": self._name, "event": delivery.event.id})
            return Failed(f"the sink raised {type(error).__name__}")

    async def settle(self, case: Case, outcome: Outcome, *, probe: bool = False) -> Decision:
        """Do what follows from a try; when this returns the message is acknowledged, unless it stays a probe."""
        now = self.wires.clock()
        decision = decide(outcome, case.travel, self._policy, now, event_id=case.event.id, probe=probe)
        match decision:
            case Ack():
                await self.delivered(case)
            case Retry():
                await self._retry(case, decision, now)
            case Slow():
                await self._slow(case, decision, now)
            case DeadLetter():
                await self._dead(case, decision, outcome)
            case Disable():
                await self._disable(decision.error)  # before the queue gives out the next one
                await self.put_back(case)
            case StayPaused():
                pass
        return decision

    async def delivered(self, case: Case) -> None:
        """The receiver has it."""
        self._breaker.answered()
        await self.release(case)
        await case.incoming.ack()
        self.wires.metrics.delivered.labels(self._name).inc()
        if case.event.time is not None:
            lag = self.wires.clock() - case.event.time.timestamp()
            self.wires.metrics.lag_seconds.labels(self._name).observe(max(0.0, lag))
        _log.debug("delivered", extra={"subscription": self._name, "event": case.event.id})

    async def hold(self, case: Case, due: float) -> None:
        """Called before an event leaves for the delay tiers: order needs it written down."""

    async def release(self, case: Case) -> None:
        """Called before an event is settled for good."""

    async def put_back(self, case: Case) -> None:
        """Back to the end of its queue without a try: nothing may be delivered now."""
        now = self.wires.clock()
        await self.hold(case, now)
        await self.post.later(case.incoming, case.travel.postponed(now))

    async def _retry(self, case: Case, decision: Retry, now: float) -> None:
        due = now + decision.after
        travel = case.travel.failed(now, decision.error, due=due, counts=True)
        if self._breaker.failed(case.event.id):  # pause first: the queue gives out the next one upon the ack
            await self.pause(decision.error, now + probe_interval(self._policy.circuit, 0))
        await self.hold(case, due)
        await self.post.later(case.incoming, travel)
        self.wires.metrics.retried.labels(self._name).inc()
        _log.info(
            "try %d failed, next in %.0f s: %s",
            travel.tries,
            decision.after,
            decision.error,
            extra={"subscription": self._name, "event": case.event.id},
        )

    async def _slow(self, case: Case, decision: Slow, now: float) -> None:
        self._breaker.answered()
        due = now + decision.after
        self.pace.hold(min(due, now + _SHORT))
        if decision.after > _SHORT:
            await self.pause(decision.error, due)
        await self.hold(case, due)
        await self.post.later(case.incoming, case.travel.failed(now, decision.error, due=due, counts=False))
        self.wires.metrics.retried.labels(self._name).inc()

    async def _dead(self, case: Case, decision: DeadLetter, outcome: Outcome) -> None:
        await self.release(case)
        await self._bury(
            case.incoming,
            case.travel.ended(counts=isinstance(outcome, (Failed, Rejected))),
            decision.why,
            decision.error,
            case.event,
        )
        if isinstance(outcome, Rejected):
            self._breaker.answered()
        elif self._breaker.failed(case.event.id):
            first = probe_interval(self._policy.circuit, 0)
            await self.pause(decision.error, self.wires.clock() + first)

    async def _bury(self, incoming: Incoming, travel: Travel, why: str, error: str, event: Event | None = None) -> None:
        death = Death(subscription=self._name, why=why, error=error, at=self.wires.clock())
        await self.post.bury(incoming, travel, death)
        self.wires.metrics.dead.labels(self._name, why).inc()
        event_id = event.id if event is not None else incoming.properties.message_id or ""
        _log.warning("dead letter (%s): %s", why, error, extra={"subscription": self._name, "event": event_id})
        if event is None or event.kind != Kind.SUBSCRIPTION:  # a receiver of everything would go round for ever
            await self.say("delivery.exhausted", error=error, event=event_id)

    async def pause(self, error: str, probe_at: float) -> None:
        """Its receiver is down, as far as this worker can tell."""
        paused = r.Paused(
            subscription=self._name, at=self.wires.clock(), by=self.wires.worker, error=error, probe_at=probe_at
        )
        before, after = await self.wires.board.append(paused)
        if before.status is Status.ACTIVE and after.status is Status.PAUSED:
            _log.warning("paused, the receiver is down: %s", error, extra={"subscription": self._name})
            await self.say("state.paused", error=error)

    async def resumed(self) -> None:
        """Its receiver is back."""
        record = r.Resumed(subscription=self._name, at=self.wires.clock(), by=self.wires.worker)
        before, after = await self.wires.board.append(record)
        self._breaker.answered()
        if before.status is not Status.ACTIVE and after.status is Status.ACTIVE:
            _log.info("resumed", extra={"subscription": self._name})
            await self.say("state.resumed")

    async def _disable(self, error: str) -> None:
        record = r.Disabled(subscription=self._name, at=self.wires.clock(), by=self.wires.worker, error=error)
        before, _ = await self.wires.board.append(record)
        if before.status is not Status.DISABLED:
            _log.error("disabled until a person resumes it: %s", error, extra={"subscription": self._name})
            await self.say("endpoint.gone", error=error)

    async def say(self, name: str, **details: Any) -> str:
        """Tell of the subscription on the exchange; the event's id."""
        message = self.wires.events.message(name, self.wires.clock(), subscription=self._name, **details)
        await self.post.say(message)
        return message.id
