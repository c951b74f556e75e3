"""The events exchange and the history, as the publisher keeps them."""

import asyncio
import logging

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.rebinding import REBIND
from kamaji_events.broker.topology import Layout, Topology
from kamaji_events.errors import TopologyMismatch

__all__ = ["GRACE", "EventsExchange"]

_log = logging.getLogger(__name__)

GRACE = REBIND + 5.0
"""Seconds that subscribers are given to bind their queues to an exchange that was deleted and is made anew."""


class EventsExchange:
    """Declares both, and gives subscribers time after somebody deleted the exchange.

    Only the replica that leads makes a missing exchange: it then knows that nobody but the history is bound to it.

    Args:
        layout: names in the broker.
        history_age: seconds that the history goes back, if it is declared here.
        grace: seconds of waiting for subscribers.
    """

    def __init__(self, layout: Layout, *, history_age: float, grace: float = GRACE) -> None:
        self._topology = layout.exchange_topology(history_age=f"{max(1, round(history_age))}s")
        self._grace = grace

    async def look(self, broker: Broker) -> None:
        """Before anybody leads: what can be declared without making the exchange.

        Raises:
            TopologyMismatch: the exchange is of another type.
            BrokerRefused: a permission is missing.
        """
        if await self._exists(broker):
            await self._declare(broker)

    async def prepare(self, broker: Broker, *, remembered: bool) -> None:
        """Before a leader publishes anything.

        Args:
            broker: the leader's connection.
            remembered: a publisher was here before, so that a missing exchange was deleted.

        Raises:
            BrokerError: as for ``look``, or the broker was lost.
        """
        missing = not await self._exists(broker)
        await self._declare(broker)
        if missing and remembered:
            name = self._topology.exchanges[0].name
            _log.warning("exchange %s was deleted and is made anew; events wait %.0f s", name, self._grace)
            await asyncio.sleep(self._grace)

    async def _exists(self, broker: Broker) -> bool:
        return await declare.exists(broker, self._topology.exchanges[0])

    async def _declare(self, broker: Broker) -> None:
        """A history of another age stays as it is: that is not worth an end."""
        topology: Topology = self._topology
        try:
            await declare.apply(broker, topology)
        except TopologyMismatch as error:
            if not await declare.exists(broker, topology.queues[0]):
                raise
            _log.warning("the history stays as it was declared first: %s", error)
            await declare.bind(broker, topology.bindings)
