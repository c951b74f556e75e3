"""The consumers' settings; how they are found: ``kamaji_events.settings``."""

import socket
from pathlib import Path

from pydantic import Field, field_validator

from kamaji_events.duration import Duration
from kamaji_events.settings import Settings

__all__ = ["ConsumerSettings"]


class ConsumerSettings(Settings):
    """Settings of ``kamaji-events consumers run``."""

    subscriptions: Path = Path("subscriptions.yaml")
    """The subscriptions file; read again when it changes, and on SIGHUP."""
    instance: str = Field(default_factory=socket.gethostname, max_length=63)
    """This replica's name, in its events and on the board; the pod's name by default."""
    group: str = "default"
    """Replicas of one group share a subscriptions file; a group leaves the subscriptions of others alone."""
    prefix: str = "kamaji"
    """First word of every exchange and queue; another one is another installation on the same vhost."""
    prune: bool = False
    """Delete the queues of subscriptions that are no longer in the file, with what waits in them."""
    reload_interval: Duration = Field(default=5.0, gt=0)
    """Time between looks at the subscriptions file."""
    look_interval: Duration = Field(default=15.0, gt=0)
    """Time between looks at each queue: what waits, quotas, history to catch up."""
    drain_timeout: Duration = 30.0
    """How long a stop waits for tries under way; what is not done by then comes again."""
    alive_limit: Duration = Field(default=180.0, gt=0)
    """A cluster's publisher that was silent for so long raises the alarm."""
    clusters: tuple[str, ...] = ()
    """Clusters whose publishers must be heard from the start; others count from the first time they are heard."""
    history_age: Duration = 7 * 24 * 3600
    """How long the broker keeps events in the history stream, if the consumers are the first to declare it."""
    heartbeat: int = Field(default=10, ge=1, le=60)
    """Seconds between AMQP heartbeats."""
    allow: tuple[str, ...] = ()
    """Addresses or networks that sinks may reach although they are refused by default, such as 127.0.0.0/8."""

    @field_validator("instance", "group", "prefix")
    @classmethod
    def _is_word(cls, value: str) -> str:
        if value and all(part.isascii() and (part.isalnum() or part in "-._") for part in value):
            return value
        raise ValueError("use letters, digits, '-', '_' and '.'")
