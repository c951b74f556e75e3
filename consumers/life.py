"""The life of subscriptions in the broker: declared, bound, changed, removed, pruned.

What was applied is written on the board, since AMQP cannot tell bindings. New bindings come before old ones go, so
that a change of filter lets nothing slip through; what no longer stands in the file is unbound and keeps its queue.
"""

import logging

from pamqp import commands as spec

from consumers import record as r
from consumers.config import Config, Subscription
from consumers.state import SubscriptionState
from consumers.topology import queue_kind
from consumers.wires import Wires
from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker
from kamaji_events.broker.topology import Exchange, Queue, Topology
from kamaji_events.errors import TopologyMismatch, TopologyMissing

__all__ = ["prepare_broker", "prune", "reconcile", "remove_missing"]

_log = logging.getLogger(__name__)

_MOST_VERSIONS = 20


async def prepare_broker(broker: Broker, common: Topology, exchange: Topology) -> None:
    """Declare what all subscriptions share; the publisher's exchange and history only where they are missing.

    Args:
        broker: any connection that may declare.
        common: tiers, board and what is behind them.
        exchange: the events exchange and the history: their arguments are the publisher's business.
    """
    await declare.apply(broker, common)
    exchanges = tuple([part for part in exchange.exchanges if await _missing(broker, part)])
    queues = tuple([part for part in exchange.queues if await _missing(broker, part)])
    if exchanges or queues:
        await declare.apply(broker, Topology(exchanges, queues, exchange.bindings))


async def _missing(broker: Broker, part: Exchange | Queue) -> bool:
    """Asked passively, so that other arguments than ours are no error."""
    is_exchange = isinstance(part, Exchange)
    try:
        async with broker.channel() as channel:
            await channel.call(
                spec.Exchange.Declare(exchange=part.name, passive=True)
                if is_exchange
                else spec.Queue.Declare(queue=part.name, passive=True)
            )
    except TopologyMissing:
        return True
    return False


async def reconcile(wires: Wires, subscription: Subscription, *, group: str) -> None:
    """Bring one subscription's queue and bindings to what the file says.

    Raises:
        TopologyMismatch: no version of the queue has the arguments that it should have.
    """
    state = wires.board.get(subscription.name)
    kind = queue_kind(subscription.policy.ordering)
    version = await _declared(wires, subscription.name, kind, state)
    keys = subscription.filter.bindings()
    await declare.bind(wires.publishing, [wires.house.return_binding(subscription.name, version)])
    if state.suspended is None:
        await declare.bind(wires.publishing, wires.house.bindings(subscription.name, version, keys))
    await _write(wires, subscription, group=group, version=version, kind=kind, state=state)
    await _unbind_old(wires, subscription.name, state, version, keys)


async def _declared(wires: Wires, name: str, kind: str, state: SubscriptionState) -> int:
    """Declare its queue; the version that has the arguments wanted."""
    version = state.version or 1
    if state.kind and state.kind != kind:
        version += 1
    for _ in range(_MOST_VERSIONS):
        try:
            await declare.apply(wires.publishing, wires.house.subscription_topology(name, kind, version))
        except TopologyMismatch as error:
            _log.warning("queue %s: %s; a new version is made", wires.house.layout.queue(name, version), error)
            version += 1
        else:
            return version
    raise TopologyMismatch(f"subscription {name!r}: {_MOST_VERSIONS} versions of its queue have other arguments")


async def _write(
    wires: Wires, subscription: Subscription, *, group: str, version: int, kind: str, state: SubscriptionState
) -> None:
    declared = r.Declared(
        subscription=subscription.name,
        at=wires.clock(),
        by=wires.worker,
        group=group,
        version=version,
        kind=kind,
        keys=subscription.filter.bindings(),
        history=subscription.history,
    )
    same = (state.group, state.version, state.kind, state.keys) == (group, version, kind, declared.keys)
    if not same or state.removed:
        await wires.board.append(declared)


async def _unbind_old(wires: Wires, name: str, state: SubscriptionState, version: int, keys: tuple[str, ...]) -> None:
    """Old keys last, and everything of an older version of the queue."""
    gone = tuple(key for key in state.keys if key not in keys)
    if gone:
        await declare.unbind(wires.publishing, wires.house.bindings(name, version, gone))
    if state.version and state.version != version:
        old = wires.house.bindings(name, state.version, state.keys)
        await declare.unbind(wires.publishing, (*old, wires.house.return_binding(name, state.version)))


async def remove_missing(wires: Wires, config: Config, *, group: str) -> tuple[str, ...]:
    """Unbind what the file no longer has, and say so.

    Returns:
        The subscriptions of this group whose queues are kept until they are pruned.
    """
    known = {subscription.name for subscription in config.subscriptions}
    gone = {name: state for name, state in wires.board.states.items() if state.group == group and name not in known}
    for name, state in gone.items():
        if not state.removed:
            await declare.unbind(wires.publishing, wires.house.bindings(name, state.version, state.keys))
            await wires.board.append(r.Removed(subscription=name, at=wires.clock(), by=wires.worker))
        _log.warning(
            "subscription %r is no longer in the file: it is unbound, %d events wait in its queue until --prune",
            name,
            await _waiting(wires, name, state),
            extra={"subscription": name},
        )
    return tuple(gone)


async def _waiting(wires: Wires, name: str, state: SubscriptionState) -> int:
    total = 0
    for version in (*state.old, state.version):
        try:
            total += await declare.message_count(wires.publishing, wires.house.layout.queue(name, version))
        except TopologyMissing:
            continue
    return total


async def prune(wires: Wires, names: tuple[str, ...]) -> int:
    """Delete the queues of removed subscriptions with what waits in them.

    One that has dead letters stays on the board with them, so that they are listed until a person has decided.

    Returns:
        How many stayed.
    """
    kept = 0
    for name in names:
        state, layout = wires.board.get(name), wires.house.layout
        queues = [layout.queue(name, version) for version in (*state.old, state.version)]
        left = await _count(wires, layout.dead_letters(name))
        if left:
            kept += 1
            _log.warning(
                "%d dead letters of %r are kept: 'kamaji-events dead redrive --to ...' or 'dead purge', then --prune",
                left,
                name,
                extra={"subscription": name},
            )
        else:
            queues.append(layout.dead_letters(name))
        await declare.delete(wires.publishing, Topology(queues=tuple(Queue(queue) for queue in queues)))
        if not left:
            await wires.board.append(r.Forgotten(subscription=name, at=wires.clock(), by=wires.worker))
            _log.warning("pruned %r", name, extra={"subscription": name})
    return kept


async def _count(wires: Wires, queue: str) -> int:
    try:
        return await declare.message_count(wires.publishing, queue)
    except TopologyMissing:
        return 0
