"""The post: puts an event back on its way, or among the dead, and only then takes it from its queue.

Every way out of a queue is here: confirmed first, acknowledged second. A crash between the two makes a second copy
with the same bytes and id; nothing is ever lost.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from consumers.headers import Death, Travel, foreign
from consumers.retry import next_tier
from consumers.topology import House
from kamaji_events.broker.consume import Incoming
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.broker.wire import Outgoing
from kamaji_events.envelope import Message
from kamaji_events.errors import PublishFailed

__all__ = ["Post", "again"]

_log = logging.getLogger(__name__)

_PUBLISH_TRIES = 3


def again(incoming: Incoming, *, routing_key: str, headers: dict[str, object]) -> Outgoing:
    """The same bytes and properties with these headers of ours, none of the broker's and the others' as they were."""
    outgoing = Outgoing.again(
        replace(incoming, headers=foreign(incoming.headers)), routing_key=routing_key, headers=headers
    )
    if not outgoing.properties.message_id:  # not one of ours; a mandatory message needs one to be told apart
        outgoing.properties.message_id = uuid4().hex
    return outgoing


class Post:
    """Publishes for one subscription.

    Args:
        publisher: on a connection that does not consume; a patient one.
        house: names.
        subscription: whose events they are.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        publisher: ConfirmingPublisher,
        house: House,
        subscription: str,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._publisher = publisher
        self._house = house
        self._subscription = subscription
        self._clock = clock

    def waits(self, travel: Travel) -> bool:
        """True for an event whose time has not come: it needs another hop."""
        return travel.not_before is not None and self._tier(travel.not_before) is not None

    def _tier(self, due: float) -> int | None:
        return next_tier(due - self._clock(), self._house.tiers)

    async def later(self, incoming: Incoming, travel: Travel) -> None:
        """One hop towards ``travel.not_before``; straight back to the queue when that has come."""
        tier = self._tier(travel.not_before or 0.0)
        layout = self._house.layout
        exchange = layout.tier(tier) if tier is not None else layout.returns
        outgoing = again(incoming, routing_key=self._subscription, headers=travel.write())
        await self._publish(outgoing, exchange)
        await incoming.ack()

    async def bury(self, incoming: Incoming, travel: Travel, death: Death) -> None:
        """Among the subscription's dead letters, with why."""
        headers = travel.write() | death.write()
        outgoing = again(incoming, routing_key=self._subscription, headers=headers)
        await self._publish(outgoing, self._house.layout.dead)
        await incoming.ack()

    async def _publish(self, outgoing: Outgoing, exchange: str) -> None:
        """Publish until it is confirmed: the publisher waits an alarm out, a queue without majority gets more tries.

        Raises:
            PublishFailed: again and again; a new session may declare what is missing.
            BrokerError: the connection was lost.
        """
        for left in reversed(range(_PUBLISH_TRIES)):
            try:
                await self._publisher.publish(outgoing, exchange=exchange, mandatory=True)
            except PublishFailed:
                if not left:
                    raise
                _log.warning("not confirmed, published again", extra={"subscription": self._subscription})
            else:
                return

    async def say(self, message: Message) -> None:
        """An event of our own."""
        await self._publisher.publish(message, exchange=self._house.layout.events)
