"""The events exchange and the history, as the publisher keeps them."""

import logging

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.topology import Layout
from kamaji_events.errors import TopologyMismatch

__all__ = ["EventsExchange"]

_log = logging.getLogger(__name__)


class EventsExchange:
    """Declares both.

    Args:
        layout: names in the broker.
        history_age: seconds that the history goes back, if it is declared here.
    """

    def __init__(self, layout: Layout, *, history_age: float) -> None:
        self._topology = layout.exchange_topology(history_age=f"{max(1, round(history_age))}s")

    async def look(self, broker: Broker) -> None:
        """Declare what is there, to meet what is wrong with it early: only who leads makes a missing exchange.

        Raises:
            BrokerError: as for ``declare``.
        """
        if await declare.exists(broker, self._topology.exchanges[0]):
            await self.declare(broker)

    async def declare(self, broker: Broker) -> None:
        """Declare exchange and history; a history of another age stays as it is: that is not worth an end.

        Raises:
            TopologyMismatch: the exchange is of another type.
            BrokerRefused: a permission is missing.
        """
        try:
            await declare.apply(broker, self._topology)
        except TopologyMismatch as error:
            if not await declare.exists(broker, self._topology.queues[0]):
                raise
            _log.warning("the history stays as it was declared first: %s", error)
            await declare.bind(broker, self._topology.bindings)
