"""The topology as data: what exists in the broker, with which arguments, and why.

::

    kamaji.events (topic) ─┬─> kamaji.history (stream)
                           └─> kamaji.sub.<name> ──x──> kamaji.dead (direct) ──> kamaji.dead.<name>
    kamaji.retry.<n>s (fanout) ──> kamaji.retry.<n>s ──n seconds──> kamaji.return (direct) ──> kamaji.sub.<name>
                                                                    └─ nobody's ─> kamaji.orphans
    kamaji.witness.<cluster> (fanout) ──> kamaji.events: nothing passes, it goes when kamaji.events is deleted

Each argument means the same on RabbitMQ 3.10, 4.0 and 4.3: measured, see ``docs/``. Arguments are immutable: what
changes them needs a queue of another name. Declaring is ``kamaji_events.broker.declare``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kamaji_events.errors import SettingsError
from kamaji_events.identity import check_cluster

__all__ = ["TIERS", "Binding", "Exchange", "Layout", "Queue", "Topology"]

TIERS: tuple[int, ...] = tuple(2**power for power in range(16))
"""Seconds of the delay tiers, 1 to 32,768: any delay is made of hops through them."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")

_MANY = 1_000_000
"""A delivery limit that never ends anything: -1 and none at all mean opposite things in 3.10 and 4.x."""
_DELIVERY_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Exchange:
    """A durable exchange."""

    name: str
    type: Literal["topic", "direct", "fanout"]
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    witness_of: str = ""
    """Passes on to that exchange, is never published to, and goes by itself when that one is deleted: as long as it
    is there, the other was not deleted and declared again. Nothing else in AMQP tells that."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue; durable unless it is exclusive, which also ends with its connection."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """What an exchange passes on to a queue."""

    exchange: str
    queue: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Topology:
    """Exchanges, queues and bindings that belong together; ``+`` joins two."""

    exchanges: tuple[Exchange, ...] = ()
    queues: tuple[Queue, ...] = ()
    bindings: tuple[Binding, ...] = ()

    @property
    def parts(self) -> tuple[Exchange | Queue, ...]:
        """Everything that is declared, in an order that works."""
        return (*self.exchanges, *self.queues)

    def __add__(self, other: "Topology") -> "Topology":
        return Topology(
            tuple(dict.fromkeys((*self.exchanges, *other.exchanges))),
            tuple(dict.fromkeys((*self.queues, *other.queues))),
            tuple(dict.fromkeys((*self.bindings, *other.bindings))),
        )


def _quorum(**arguments: Any) -> dict[str, Any]:
    """A quorum queue's arguments; ``_`` stands for ``-``."""
    return {"x-queue-type": "quorum", **{f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}}


def _dead_lettering(exchange: str) -> dict[str, Any]:
    """At least once, which RabbitMQ does only together with reject-publish: otherwise it falls back silently."""
    return {
        "dead_letter_exchange": exchange,
        "dead_letter_strategy": "at-least-once",
        "overflow": "reject-publish",
    }


@dataclass(frozen=True, slots=True)
class Layout:
    """The names and parts of one installation; another prefix makes another installation on the same vhost."""

    prefix: str = "kamaji"

    @property
    def events(self) -> str:
        """The topic exchange of all events."""
        return f"{self.prefix}.events"

    @property
    def history(self) -> str:
        """The stream that keeps all events for a while."""
        return f"{self.prefix}.history"

    def witness(self, cluster: str) -> str:
        """The exchange that goes when ``events`` is deleted; made by a cluster's leader only."""
        return f"{self.prefix}.witness.{check_cluster(cluster)}"

    @property
    def returns(self) -> str:
        """The direct exchange behind the delay tiers; the routing key is the subscription."""
        return f"{self.prefix}.return"

    @property
    def orphans(self) -> str:
        """Where retries of a subscription that is gone end, instead of blocking everyone's."""
        return f"{self.prefix}.orphans"

    @property
    def dead(self) -> str:
        """The direct exchange of dead letters; the routing key is the subscription."""
        return f"{self.prefix}.dead"

    def queue(self, subscription: str, version: int = 1) -> str:
        """A subscription's queue. Another kind of queue needs another version, the old one is drained."""
        name = f"{self.prefix}.sub.{_checked(subscription)}"
        return name if version == 1 else f"{name}.v{version}"

    def dead_letters(self, subscription: str) -> str:
        """The queue of a subscription's dead letters."""
        return f"{self.prefix}.dead.{_checked(subscription)}"

    def client_queue(self, name: str) -> str:
        """The queue of a Python subscriber."""
        return f"{self.prefix}.client.{_checked(name)}"

    def tier(self, seconds: int) -> str:
        """The fanout exchange, and the queue, that delay by so many seconds (one of ``TIERS``)."""
        return f"{self.prefix}.retry.{seconds}s"

    def journal(self, cluster: str) -> str:
        """The publisher's memory of one management cluster."""
        return f"{self.prefix}.journal.{check_cluster(cluster)}"

    def client_topology(self, name: str, keys: Iterable[str], *, expires: float = 7 * 86_400.0) -> Topology:
        """A durable queue of a Python subscriber's own, outside the retries and dead letters of the services.

        Args:
            name: of the subscription.
            keys: binding keys, see ``Filter.bindings``.
            expires: seconds without any reader after which the queue is deleted with all that is in it: nobody
                else would ever empty it.
        """
        queue = self.client_queue(name)
        arguments = _quorum(delivery_limit=_MANY, expires=int(expires * 1000))
        return Topology(queues=(Queue(queue, arguments),), bindings=tuple(Binding(self.events, queue, k) for k in keys))

    def live_topology(self, name: str, keys: Iterable[str], *, most: int = 100_000) -> Topology:
        """A queue that lives as long as its connection; a reader more than ``most`` events behind loses the oldest."""
        queue = self.client_queue(name)
        return Topology(
            queues=(Queue(queue, {"x-max-length": most}, exclusive=True),),
            bindings=tuple(Binding(self.events, queue, key) for key in keys),
        )

    def exchange_topology(
        self, *, history_age: str = "7D", history_bytes: int | None = None, segment_bytes: int | None = None
    ) -> Topology:
        """The events exchange and the history behind it.

        Args:
            history_age: how long, as RabbitMQ writes it: ``Y``, ``M``, ``D`` (capital), ``h``, ``m``, ``s``.
            history_bytes: how much at most.
            segment_bytes: size of a stream's file; only whole files are dropped.
        """
        arguments: dict[str, Any] = {"x-queue-type": "stream", "x-max-age": history_age}
        if history_bytes is not None:
            arguments["x-max-length-bytes"] = history_bytes
        if segment_bytes is not None:
            arguments["x-stream-max-segment-size-bytes"] = segment_bytes
        return Topology(
            (Exchange(self.events, "topic"),),
            (Queue(self.history, arguments),),
            (Binding(self.events, self.history, "#"),),
        )

    def retry_topology(self, tiers: Iterable[int] = TIERS) -> Topology:
        """The delay tiers, the exchange behind them, and the queue for what has no subscription any more.

        A fanout exchange before each tier keeps the routing key, which the default exchange would replace by the
        queue's name.
        """
        lost = f"{self.returns}.lost"
        topology = Topology(
            (
                Exchange(lost, "fanout"),
                Exchange(self.returns, "direct", {"alternate-exchange": lost}),
                Exchange(self.dead, "direct"),
            ),
            (Queue(self.orphans, _quorum(delivery_limit=_MANY)),),
            (Binding(lost, self.orphans),),
        )
        for seconds in tiers:
            name = self.tier(seconds)
            arguments = _quorum(message_ttl=seconds * 1000, delivery_limit=_MANY, **_dead_lettering(self.returns))
            topology += Topology((Exchange(name, "fanout"),), (Queue(name, arguments),), (Binding(name, name),))
        return topology

    def subscription_topology(self, subscription: str, keys: Iterable[str] = (), *, version: int = 1) -> Topology:
        """A subscription's queue and dead letters; needs the exchanges of the other two.

        Without a length limit: while tiers are shared, one full queue would hold everyone's retries up.

        Args:
            subscription: its name.
            keys: binding keys, see ``Filter.bindings``; none leaves it unbound (suspended).
            version: see ``queue``.
        """
        queue, dead = self.queue(subscription, version), self.dead_letters(subscription)
        arguments = _quorum(
            delivery_limit=_DELIVERY_LIMIT, dead_letter_routing_key=subscription, **_dead_lettering(self.dead)
        )
        return Topology(
            queues=(Queue(dead, _quorum(delivery_limit=_MANY)), Queue(queue, arguments)),
            bindings=(
                Binding(self.dead, dead, subscription),
                Binding(self.returns, queue, subscription),
                *(Binding(self.events, queue, key) for key in keys),
            ),
        )

    def witness_topology(self, cluster: str) -> Topology:
        """The events exchange and what tells that it was deleted, see ``Exchange.witness_of``."""
        witness = Exchange(self.witness(cluster), "fanout", witness_of=self.events)
        return Topology((Exchange(self.events, "topic"), witness))

    def journal_topology(self, cluster: str) -> Topology:
        """The journal's queue: its single active consumer is the leader."""
        arguments = _quorum(single_active_consumer=True, delivery_limit=_MANY)
        return Topology(queues=(Queue(self.journal(cluster), arguments),))


def _checked(subscription: str) -> str:
    """A subscription's name, or why it cannot be one: it is a part of queue names and a routing key."""
    if _NAME.match(subscription):
        return subscription
    raise SettingsError(
        f"subscription name {subscription!r}: give 1 to 63 lower-case letters, digits or '-', e.g. 'billing'"
    )
