"""What the consumers add to the topology: the board's stream, and queues for ordered subscriptions."""

from dataclasses import dataclass, field, replace

from consumers.policy import Ordering
from consumers.sinks.notes import notes_topology
from kamaji_events.broker.topology import TIERS, Binding, Layout, Queue, Topology

__all__ = ["House", "queue_kind"]

_BOARD_BYTES = 16_000_000
_BOARD_SEGMENT = 1_000_000


def queue_kind(ordering: Ordering) -> str:
    """What a subscription's queue must be: another kind needs a new version of the queue.

    Order needs one reader at a time, which is an argument of the queue (single active consumer).
    """
    return "single" if ordering is Ordering.OBJECT else "shared"


@dataclass(frozen=True, slots=True)
class House:
    """The layout of one installation with what the consumers need in it."""

    layout: Layout = field(default_factory=Layout)
    tiers: tuple[int, ...] = TIERS
    """Seconds of the delay tiers, ascending."""

    @property
    def board(self) -> str:
        """The stream in which workers write down what they know of subscriptions."""
        return f"{self.layout.prefix}.board"

    @property
    def notes(self) -> str:
        """The stream in which sinks keep what they must remember."""
        return f"{self.layout.prefix}.notes"

    def board_topology(self) -> Topology:
        """The board; snapshots are written to it long before its beginning is dropped."""
        arguments = {
            "x-queue-type": "stream",
            "x-max-length-bytes": _BOARD_BYTES,
            "x-stream-max-segment-size-bytes": _BOARD_SEGMENT,
        }
        return Topology(queues=(Queue(self.board, arguments),))

    def common_topology(self) -> Topology:
        """What all subscriptions share."""
        return self.layout.retry_topology(self.tiers) + self.board_topology() + notes_topology(self.notes)

    def subscription_topology(self, name: str, kind: str, version: int) -> Topology:
        """A subscription's queue and dead letters, not yet bound to the events."""
        base = self.layout.subscription_topology(name, version=version)
        if kind != "single":
            return base
        queue = self.layout.queue(name, version)
        queues = tuple(
            replace(part, arguments={**part.arguments, "x-single-active-consumer": True})
            if part.name == queue
            else part
            for part in base.queues
        )
        return replace(base, queues=queues)

    def bindings(self, name: str, version: int, keys: tuple[str, ...]) -> tuple[Binding, ...]:
        """From the events exchange."""
        return tuple(Binding(self.layout.events, self.layout.queue(name, version), key) for key in keys)

    def return_binding(self, name: str, version: int) -> Binding:
        """From the exchange behind the delay tiers."""
        return Binding(self.layout.returns, self.layout.queue(name, version), name)
