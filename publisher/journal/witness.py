"""The witness: how a leader knows that nobody deleted the events exchange since it was bound to its readers.

An exchange that was deleted and declared again (by a consumer that connects, by a person) takes and confirms
everything, and passes it on to nobody: its bindings went with it. AMQP cannot list bindings, and a mandatory message
comes back only when not a single queue takes it. So there is an exchange that RabbitMQ deletes together with the
events exchange (auto-delete: that was its last binding). Only the leader of a cluster makes it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.topology import Layout

__all__ = ["Ground", "Witness"]

_log = logging.getLogger(__name__)

Ground = Callable[[Broker], Awaitable[None]]
"""Declares the events exchange, and the history bound to it, unless they are there."""


class Witness:
    """Sees to it that a leader's events have readers.

    Args:
        layout: names in the broker.
        cluster: management cluster.
        ground: see ``Ground``; nothing but the exchange is declared without.
        grace: seconds that readers are given to bind again.
    """

    def __init__(self, layout: Layout, cluster: str, ground: Ground | None, *, grace: float) -> None:
        self.name = layout.witness(cluster)
        self._topology = layout.witness_topology(cluster)
        self._ground = ground
        self._grace = grace

    async def stand(self, broker: Broker, *, first: bool) -> None:
        """Have a witness, and behind it the history bound; to be called by who holds the token.

        Args:
            broker: the connection.
            first: nobody led before, so there was nothing to be deleted.

        Raises:
            BrokerError: the broker was lost.
        """
        there = await declare.exists(broker, self._topology.exchanges[-1])
        # even if it is there: who made it may have died before binding it
        await declare.apply(broker, self._topology)
        if there:
            return
        if self._ground is not None:  # only now: what is bound from here on cannot go without the witness
            await self._ground(broker)
        if not first:
            _log.warning(
                "the events exchange was deleted (or a release before the witness led): nothing is published for %g s, "
                "until everybody has bound again",
                self._grace,
            )
            await asyncio.sleep(self._grace)
