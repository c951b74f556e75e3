"""What a session's parts share: connections, names, the board, the clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from consumers.board import Board
from consumers.metrics import ConsumerMetrics
from consumers.sinks.notes import BrokerMemory
from consumers.topology import House
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.publish import ConfirmingPublisher
from kamaji_events.instance import InstanceEvents

__all__ = ["Wires"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wires:
    """One session with the broker.

    Three connections, since an alarm freezes one that publishes, and a stream's fault closes the one that reads it.
    """

    consuming: Broker
    """Asked about queues, too: it answers during an alarm."""
    publishing: Broker
    reading: Broker
    publisher: ConfirmingPublisher
    board: Board
    memory: BrokerMemory
    """What sinks must remember."""
    house: House
    events: InstanceEvents
    """Makes the events that this process tells of subscriptions."""
    metrics: ConsumerMetrics
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""

    @property
    def worker(self) -> str:
        """Who this is on the board."""
        return self.board.worker
