"""The state of a subscription as all workers see it: a pure fold over the records.

Every worker folds the same records in the same order, so all agree, and a claim is won by whoever reads that the
state names him. Nothing here reads a clock.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from consumers import record as r

__all__ = ["CatchUp", "States", "Status", "SubscriptionState", "cluster_name", "fold", "is_cluster"]


class Status(StrEnum):
    """Whether events are delivered."""

    ACTIVE = "active"
    PAUSED = "paused"
    """Its receiver is down: one event probes."""
    DISABLED = "disabled"
    """410, until a person resumes it."""


class CatchUp(msgspec.Struct, frozen=True, omit_defaults=True):
    """Copying from the history into the queue."""

    since: float
    """Seconds since 1970: from here on."""
    until_id: str
    """Up to this event, which was published after the binding."""
    offset: int = -1
    """Copied up to here."""
    worker: str = ""
    lease: float = 0.0
    """The worker copies until then, unless it renews."""


class SubscriptionState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a subscription."""

    group: str = ""
    """Workers of one group share a configuration; others leave its subscriptions alone."""
    version: int = 0
    """Of its queue; 0 before the first declaration."""
    kind: str = ""
    keys: tuple[str, ...] = ()
    """Binding keys that were applied."""
    old: tuple[int, ...] = ()
    """Versions of the queue that are drained."""
    removed: bool = False
    status: Status = Status.ACTIVE
    since: float = 0.0
    """When the status began."""
    error: str = ""
    probes: int = 0
    """Failed ones since the pause."""
    probe_at: float | None = None
    prober: str = ""
    probe_lease: float = 0.0
    suspended: float | None = None
    """When it was unbound; None while it is bound."""
    catch_up: CatchUp | None = None
    wants_history: float | None = None
    """Seconds of history a new subscription still has to ask for."""
    held: dict[str, dict[str, float]] = {}
    """With ordering by object: object to sequence to the time when that event is due."""
    silent: bool = False
    """Of a cluster, which has a name no subscription can have: its publisher is not heard."""

    def blocked_by(self, object_: str, sequence: str) -> tuple[str, float] | None:
        """The first earlier event of the object that is still on its way, and when it is due."""
        earlier = [(held, due) for held, due in self.held.get(object_, {}).items() if held < sequence]
        return min(earlier) if earlier else None


States = dict[str, SubscriptionState]

_CLUSTER = "cluster:"


def cluster_name(cluster: str) -> str:
    """Under what name a cluster stands on the board, beside the subscriptions."""
    return f"{_CLUSTER}{cluster}"


def is_cluster(name: str) -> bool:
    """Whether a name on the board is a cluster's."""
    return name.startswith(_CLUSTER)


_Fold = Callable[[SubscriptionState, Any], SubscriptionState]


def _with(state: SubscriptionState, **changes: Any) -> SubscriptionState:
    return msgspec.structs.replace(state, **changes)


def _declared(state: SubscriptionState, record: r.Declared) -> SubscriptionState:
    old = state.old
    if state.version and record.version != state.version:
        old = (*(version for version in old if version != record.version), state.version)
    wants = record.history if not state.version else state.wants_history
    return _with(
        state,
        group=record.group,
        version=record.version,
        kind=record.kind,
        keys=record.keys,
        old=old,
        removed=False,
        wants_history=wants,
    )


def _status(state: SubscriptionState, record: r.Record, status: Status, **changes: Any) -> SubscriptionState:
    fresh = {"error": "", "probes": 0, "probe_at": None, "prober": "", "probe_lease": 0.0} | changes
    return _with(state, status=status, since=record.at, **fresh)


def _paused(state: SubscriptionState, record: r.Paused) -> SubscriptionState:
    if state.status is not Status.ACTIVE:
        return state
    return _status(state, record, Status.PAUSED, error=record.error, probe_at=record.probe_at)


def _probe_claimed(state: SubscriptionState, record: r.ProbeClaimed) -> SubscriptionState:
    free = not state.prober or state.probe_lease <= record.at or state.prober == record.by
    if state.status is not Status.PAUSED or state.probe_at is None or not free:
        return state
    return _with(state, prober=record.by, probe_lease=record.until)


def _probe_failed(state: SubscriptionState, record: r.ProbeFailed) -> SubscriptionState:
    if state.status is not Status.PAUSED or state.prober != record.by:
        return state
    return _with(state, error=record.error, probes=state.probes + 1, probe_at=record.probe_at, probe_lease=record.until)


def _resumed(state: SubscriptionState, record: r.Resumed) -> SubscriptionState:
    return state if state.status is Status.ACTIVE else _status(state, record, Status.ACTIVE)


def _disabled(state: SubscriptionState, record: r.Disabled) -> SubscriptionState:
    return state if state.status is Status.DISABLED else _status(state, record, Status.DISABLED, error=record.error)


def _suspended(state: SubscriptionState, record: r.Suspended) -> SubscriptionState:
    return state if state.suspended is not None else _with(state, suspended=record.at)


def _bound(state: SubscriptionState, record: r.Bound) -> SubscriptionState:
    """The first one counts. A catch-up that was not finished begins no later than where it stood."""
    if state.suspended is None and state.wants_history is None:
        return state
    since = min(record.since, state.catch_up.since) if state.catch_up is not None else record.since
    return _with(state, suspended=None, wants_history=None, catch_up=CatchUp(since=since, until_id=record.until_id))


def _catch_up_claimed(state: SubscriptionState, record: r.CatchUpClaimed) -> SubscriptionState:
    current = state.catch_up
    if current is None or (current.worker not in ("", record.by) and current.lease > record.at):
        return state
    return _with(state, catch_up=msgspec.structs.replace(current, worker=record.by, lease=record.until))


def _catch_up_moved(state: SubscriptionState, record: r.CatchUpMoved) -> SubscriptionState:
    current = state.catch_up
    if current is None or current.worker != record.by:
        return state
    moved = msgspec.structs.replace(current, offset=max(current.offset, record.offset), lease=record.until)
    return _with(state, catch_up=moved)


def _caught_up(state: SubscriptionState, record: r.CaughtUp) -> SubscriptionState:
    if state.catch_up is None or state.catch_up.worker != record.by:
        return state
    return _with(state, catch_up=None)


def _held(state: SubscriptionState, record: r.Held) -> SubscriptionState:
    held = {**state.held, record.object: {**state.held.get(record.object, {}), record.sequence: record.due}}
    return _with(state, held=held)


def _released(state: SubscriptionState, record: r.Released) -> SubscriptionState:
    left = {sequence: due for sequence, due in state.held.get(record.object, {}).items() if sequence != record.sequence}
    held = {name: waiting for name, waiting in state.held.items() if name != record.object}
    return _with(state, held=held | ({record.object: left} if left else {}))


_FOLDS: dict[type[r.Record], _Fold] = {
    r.Declared: _declared,
    r.Removed: lambda state, _: _with(state, removed=True, keys=()),
    r.Drained: lambda state, record: _with(state, old=tuple(old for old in state.old if old != record.version)),
    r.Paused: _paused,
    r.ProbeClaimed: _probe_claimed,
    r.ProbeFailed: _probe_failed,
    r.Resumed: _resumed,
    r.Disabled: _disabled,
    r.Suspended: _suspended,
    r.Bound: _bound,
    r.CatchUpClaimed: _catch_up_claimed,
    r.CatchUpMoved: _catch_up_moved,
    r.CaughtUp: _caught_up,
    r.Held: _held,
    r.Released: _released,
    r.Silent: lambda state, _: _with(state, silent=True),
    r.Heard: lambda state, _: _with(state, silent=False),
}


def fold(states: States, record: r.Record) -> States:
    """The states after a record; the given dict is left as it is. A snapshot changes nothing here."""
    if isinstance(record, r.Snapshot):
        return states
    if isinstance(record, r.Forgotten):
        return {name: state for name, state in states.items() if name != record.subscription}
    before = states.get(record.subscription, SubscriptionState())
    return {**states, record.subscription: _FOLDS[type(record)](before, record)}
