"""Topology into the broker: plan, apply, verify, delete.

AMQP cannot read arguments. A passive declare tells only whether something exists; whether it has the arguments
wanted is found by declaring it once more, which RabbitMQ refuses when they differ, closing the channel over it:
so each question has a channel of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pamqp import commands as spec
from pamqp.base import Frame

from kamaji_events.broker.channel import Channel
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.topology import Binding, Exchange, Queue, Topology
from kamaji_events.errors import TopologyMismatch, TopologyMissing

__all__ = ["Plan", "State", "Step", "apply", "bind", "delete", "exists", "message_count", "plan", "unbind", "verify"]


class State(StrEnum):
    """What there is of a part of the topology."""

    MISSING = "missing"
    PRESENT = "present"
    MISMATCH = "mismatch"


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange or queue, and what there is of it."""

    part: Exchange | Queue
    state: State
    reason: str = ""
    """The broker's words on a mismatch: argument, what was asked for, what there is."""

    def __str__(self) -> str:
        kind = "exchange" if isinstance(self.part, Exchange) else "queue"
        return f"{self.state} {kind} {self.part.name}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Plan:
    """What ``apply`` would find; bindings cannot be read over AMQP and are not part of it."""

    steps: tuple[Step, ...]

    def of(self, state: State) -> tuple[Step, ...]:
        """The steps in one state."""
        return tuple(step for step in self.steps if step.state is state)


def _declaration(part: Exchange | Queue, *, passive: bool = False) -> Frame:
    arguments = dict(part.arguments)
    if isinstance(part, Exchange):
        return spec.Exchange.Declare(
            exchange=part.name,
            exchange_type=part.type,
            durable=True,
            auto_delete=bool(part.witness_of),
            passive=passive,
            arguments=arguments,
        )
    return spec.Queue.Declare(
        queue=part.name,
        durable=not part.exclusive,
        exclusive=part.exclusive,
        passive=passive,
        arguments=arguments,
    )


async def exists(broker: Broker, part: Exchange | Queue) -> bool:
    """True when there is one of that name, whatever its arguments; needs no permission to configure."""
    try:
        async with broker.channel() as channel:
            await channel.call(_declaration(part, passive=True))
    except TopologyMissing:
        return False
    return True


async def _look(broker: Broker, part: Exchange | Queue) -> Step:
    if not await exists(broker, part):
        return Step(part, State.MISSING)
    try:
        async with broker.channel() as channel:
            await channel.call(_declaration(part))
    except TopologyMismatch as error:
        return Step(part, State.MISMATCH, str(error))
    return Step(part, State.PRESENT)


async def plan(broker: Broker, topology: Topology) -> Plan:
    """Look at each part without creating any."""
    return Plan(tuple([await _look(broker, part) for part in topology.parts]))


async def apply(broker: Broker, topology: Topology) -> None:
    """Declare and bind everything; what is there already stays as it is.

    A queue that is new should get a moment before it is trusted: RabbitMQ was seen losing confirmed messages of a
    quorum queue when it was killed within half a second of its declaration.

    Raises:
        TopologyMismatch: a part exists with other arguments; the broker's words name them.
        BrokerRefused: the user may not configure, write or read it.
    """
    async with broker.channel() as channel:
        for part in topology.parts:
            await channel.call(_declaration(part))
            if isinstance(part, Exchange) and part.witness_of:
                await channel.call(spec.Exchange.Bind(destination=part.witness_of, source=part.name))
        await _bind(channel, topology.bindings)


async def verify(broker: Broker, topology: Topology) -> None:
    """Check that everything is there as it should be.

    Raises:
        TopologyMissing: parts are missing; all of them are named.
        TopologyMismatch: a part has other arguments.
    """
    found = await plan(broker, topology)
    if wrong := found.of(State.MISMATCH):
        raise TopologyMismatch("; ".join(map(str, wrong)))
    if missing := found.of(State.MISSING):
        raise TopologyMissing("; ".join(map(str, missing)) + ": start the publisher or consumers once, they declare it")


async def delete(broker: Broker, topology: Topology) -> None:
    """Delete everything with all that is in it; what is not there is fine."""
    async with broker.channel() as channel:
        for queue in topology.queues:
            await channel.call(spec.Queue.Delete(queue=queue.name))
        for exchange in topology.exchanges:
            await channel.call(spec.Exchange.Delete(exchange=exchange.name))


async def bind(broker: Broker, bindings: Iterable[Binding]) -> None:
    """Add bindings; those that exist are fine."""
    async with broker.channel() as channel:
        await _bind(channel, bindings)


async def unbind(broker: Broker, bindings: Iterable[Binding]) -> None:
    """Remove bindings; those that do not exist are fine."""
    async with broker.channel() as channel:
        for binding in bindings:
            await channel.call(
                spec.Queue.Unbind(queue=binding.queue, exchange=binding.exchange, routing_key=binding.key)
            )


async def _bind(channel: Channel, bindings: Iterable[Binding]) -> None:
    for binding in bindings:
        await channel.call(spec.Queue.Bind(queue=binding.queue, exchange=binding.exchange, routing_key=binding.key))


async def message_count(broker: Broker, queue: str) -> int:
    """Messages that wait in a queue; stale for seconds after a broker's start, so never decide by it alone.

    Raises:
        TopologyMissing: there is no such queue.
    """
    async with broker.channel() as channel:
        reply = await channel.call(spec.Queue.Declare(queue=queue, passive=True))
    return int(reply.message_count)
