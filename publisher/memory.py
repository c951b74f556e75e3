"""The seam between deciding and remembering: who leads, what is remembered, what is told.

A ``Memory`` is the leader's token, outbox and store in one. The journal in the broker is the real one
(``publisher.journal``); ``publisher.process_memory`` keeps nothing beyond its process.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol

from kamaji_events.broker.connection import Broker
from kamaji_events.envelope import Message

__all__ = ["BLOCKED", "Delta", "Memory", "Recovered", "Term"]

BLOCKED: Final = "RabbitMQ holds publishers up: a memory or disk alarm (rabbitmq-diagnostics alarms)"
"""The problem of a term whose connection is blocked."""


@dataclass(frozen=True, slots=True)
class Delta:
    """All that one batch changed, and the bytes of its events: what a crash may not separate."""

    messages: tuple[Message, ...] = ()
    """Events to publish, in order."""
    changed: Mapping[str, bytes | None] = field(default_factory=dict)
    """Encoded memory of each object that changed, by key; None for one that is forgotten."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The resourceVersion up to which each resource has been judged."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What else must survive, such as the epoch."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What is remembered when a leadership begins."""

    term: int
    """This leadership's number: never smaller than a former one's of the cluster, greater than another process's."""
    own: int | None = None
    """The number of the last delta of all when this very process wrote it: it may go on from its own memory."""
    first: bool = True
    """True when nothing is remembered and nothing was lost: the cluster's very first start."""
    lost: str | None = None
    """Why the memory is lost although the history knows the cluster: a new epoch must begin."""
    objects: Mapping[str, bytes] = field(default_factory=dict)
    """Encoded memory of each object, by key."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Where each watch goes on."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """See ``Delta.facts``."""
    unwatched_since: float | None = None
    """When the last delta was written, in seconds since 1970."""


class Term(Protocol):
    """One leadership; once a method raises ``BrokerError`` it is over."""

    @property
    def recovered(self) -> Recovered:
        """What was remembered when it began."""

    @property
    def next(self) -> int:
        """The number that the next delta gets."""

    @property
    def problem(self) -> str | None:
        """Why the broker does not take the batch that is on its way; None while all is well."""

    async def commit(self, delta: Delta) -> None:
        """Remember a batch, publish its events, and return once every confirm is there.

        Raises:
            BrokerError: the leadership is over. Whether the batch is remembered is told by the next term's
                ``Recovered.own``.
        """

    async def keep(self) -> None:
        """Renew the token for as long as the leadership lasts; raises ``BrokerError`` when it is over."""


class Memory(Protocol):
    """Where leaderships come from."""

    def lead(self, broker: Broker) -> AbstractAsyncContextManager[Term]:
        """Wait for the token, recover what is remembered, and lead until the block is left.

        Raises:
            BrokerError: the broker was lost while waiting.
            JournalError: what is remembered cannot be read.
        """
