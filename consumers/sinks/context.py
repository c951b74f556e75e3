"""What a sink is given besides its settings."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from consumers.sinks.memory import ProcessMemory

__all__ = ["Memory", "SinkContext"]


class Memory(Protocol):
    """A few small notes that outlive a process and are shared by competing workers, e.g. Slack's thread ids.

    Keys are at most 200 characters, values at most 64 KB. Losing a note must never lose an event.
    """

    async def get(self, key: str) -> bytes | None:
        """The note; None when there is none."""

    async def put(self, key: str, value: bytes, *, keep: float = 7 * 86400.0) -> None:
        """Keep a note for ``keep`` seconds at least; it is safe when this returns."""

    async def claim(self, key: str, value: bytes, *, keep: float) -> bytes:
        """Keep a note unless there is one; of several that claim at once one is first. The note that stands."""

    async def delete(self, key: str) -> None:
        """Forget a note; none there is fine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkContext:
    """Given by the worker to every sink that it builds."""

    subscription: str = "test"
    """The subscription's name."""
    memory: Memory = field(default_factory=ProcessMemory)
    """Where notes are kept."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """Where ``fromEnv`` looks."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    allow: tuple[str, ...] = ()
    """Addresses that the operator allows to every sink, see ``consumers.sinks.web.egress``."""
    amqp_url: str = field(default="", repr=False)
    """The broker that the worker itself uses: where a queue sink without a URL publishes."""
    events_exchange: str = "kamaji.events"
    """Where the worker's events come from, on its own broker."""
