"""What the history knows of a cluster: asked only when the journal's memory is lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kamaji_events.broker.connection import Broker
from kamaji_events.broker.history import Replay
from kamaji_events.errors import EnvelopeError, TopologyMissing
from kamaji_events.event import Event
from publisher.lifecycle.recall import Recall
from publisher.remembered import encode

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
    last: float = 0.0
    """When the last of them happened, in seconds since 1970."""
    objects: Mapping[str, bytes] = field(default_factory=dict)
    """Encoded memory of each object, as far as events tell."""


async def recollect(broker: Broker, stream: str, cluster: str) -> Recollection | None:
    """Read the whole history for events of a cluster's publisher; None when there are none.

    Args:
        broker: a second connection is opened to the same place: a fault of the stream would end this one.
        stream: the history's name.
        cluster: management cluster.

    Raises:
        BrokerUnavailable: the connection was lost.
    """
    known, recall = Recollection(), Recall()
    try:
        async with (
            broker.another("kamaji-events journal, history") as reader,
            Replay(reader, stream, ago=None) as replay,
        ):
            async for incoming in replay:
                if _is_of(incoming.routing_key, cluster) and (event := _readable(incoming.body)) is not None:
                    known = _more(known, event)
                    recall.take(event)
    except TopologyMissing:
        return None
    objects = {key: encode(memory) for key, memory in recall.memories().items()}
    return replace(known, objects=objects) if known.events else None


def _is_of(key: str, cluster: str) -> bool:
    words = key.split(".")
    return len(words) > _CLUSTER_WORD and words[_CLUSTER_WORD] == cluster


def _readable(body: bytes) -> Event | None:
    """A publisher's event; a consumer's tells nothing of a publisher."""
    try:
        event = Event.from_bytes(body)
    except EnvelopeError:
        return None
    return event if event.term is not None else None


def _more(known: Recollection, event: Event) -> Recollection:
    epoch = (event.sequence or "").partition("-")[0]
    return Recollection(
        term=max(known.term, event.term or 0),
        epoch=max(known.epoch, int(epoch) if epoch.isdigit() else 0),
        events=known.events + 1,
        last=max(known.last, event.time.timestamp() if event.time is not None else 0.0),
    )
