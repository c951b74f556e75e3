"""Bindings that come back by themselves: nobody is told when an exchange is deleted and declared again."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.topology import Binding
from kamaji_events.errors import BrokerError, TopologyMissing

__all__ = ["REBIND", "bind_again", "kept_bound"]

_log = logging.getLogger(__name__)

REBIND = 15.0
"""Seconds at most after which whoever has a queue binds it again; what is bound already stays as it is. A publisher
that had to make the exchange anew waits longer than this before it publishes there."""


async def bind_again(broker: Broker, bindings: Sequence[Binding]) -> bool:
    """Bind once more; False when the exchange or queue is not there.

    Raises:
        BrokerError: the connection was lost, or a permission is missing.
    """
    try:
        await declare.bind(broker, bindings)
    except TopologyMissing as error:
        _log.warning("not bound, trying again within %.0f s: %s", REBIND, error)
        return False
    return True


@asynccontextmanager
async def kept_bound(broker: Broker, bindings: Sequence[Binding], *, every: float = REBIND) -> AsyncIterator[None]:
    """Bind again and again while in the block. That the connection is lost is told by whatever reads the queue."""

    async def keep() -> None:
        with suppress(BrokerError):
            while True:
                await asyncio.sleep(every)
                await bind_again(broker, bindings)

    keeping = asyncio.create_task(keep(), name="bindings")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
