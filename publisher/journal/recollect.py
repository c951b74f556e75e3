"""What the history knows of a cluster: asked only when the journal is empty."""

from dataclasses import dataclass

import orjson

from kamaji_events.broker.connection import Broker
from kamaji_events.broker.history import Replay
from kamaji_events.errors import TopologyMissing

__all__ = ["Recollection", "recollect"]

_CLUSTER_WORD = 3
"""The fourth word of a routing key."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What must not be used again."""

    term: int = 0
    """The greatest term of its events."""
    epoch: int = 0
    """The greatest epoch of its events."""
    events: int = 0
    """How many of its events the history has."""


async def recollect(broker: Broker, stream: str, cluster: str) -> Recollection | None:
    """Read the whole history for events of a cluster's publisher; None when there are none.

    Args:
        broker: a second connection is opened to the same place: a fault of the stream would end this one.
        stream: the history's name.
        cluster: management cluster.

    Raises:
        BrokerUnavailable: the connection was lost.
    """
    known = Recollection()
    try:
        async with (
            broker.another("kamaji-events journal, history") as reader,
            Replay(reader, stream, ago=None) as replay,
        ):
            async for incoming in replay:
                if _is_of(incoming.routing_key, cluster):
                    known = _more(known, incoming.body)
    except TopologyMissing:
        return None
    return known if known.events else None


def _is_of(key: str, cluster: str) -> bool:
    words = key.split(".")
    return len(words) > _CLUSTER_WORD and words[_CLUSTER_WORD] == cluster


def _more(known: Recollection, body: bytes) -> Recollection:
    try:
        event = orjson.loads(body)
        term, epoch = event.get("kamajiterm"), int(str(event.get("sequence")).partition("-")[0])
    except (ValueError, AttributeError):
        return known
    if not isinstance(term, int):  # a consumer's event tells nothing of a publisher
        return known
    return Recollection(max(known.term, term), max(known.epoch, epoch), known.events + 1)
