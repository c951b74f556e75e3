"""What the events of the history tell of the objects: a memory made anew when the real one is lost.

Events tell less than the memory held: no checksum, no spec. What is not told is unknown, and what is unknown is no
difference when it is seen again. So comparing afterwards finds what the events' own words show: an object that is
gone or new, another version, number, store or endpoint, ready or not, and how open operations ended.
"""

from typing import Any

from kamaji_events.catalogue import Kind
from kamaji_events.event import Event
from publisher.lifecycle.facts import Facts
from publisher.lifecycle.memory import Farewell, ObjectMemory, OpenOperation, StoreMemory, TcpMemory
from publisher.lifecycle.merge import seconds_of
from publisher.lifecycle.operations import STEPS

__all__ = ["Recall"]

_ENDS = frozenset({"completed", "superseded", "cancelled"})
_RECALLED = "recalled"
"""Stands for a checksum that was there and is not known."""


class Recall:
    """Takes the events of one cluster in the order of their stream, copies included."""

    def __init__(self) -> None:
        self._tcps: dict[str, TcpMemory] = {}
        self._stores: dict[str, StoreMemory] = {}
        self._heard: dict[str, str] = {}

    def take(self, event: Event) -> None:
        """Learn from one event; copies and what is not about an object teach nothing."""
        uid, sequence = event.partitionkey, event.sequence
        if not uid or not sequence or sequence <= self._heard.get(uid, ""):
            return
        if event.kind == Kind.TENANTCONTROLPLANE:
            self._tcp(uid, event)
        elif event.kind == Kind.DATASTORE:
            self._store(uid, event)
        else:
            return
        self._heard[uid] = sequence

    def memories(self) -> dict[str, ObjectMemory]:
        """What is known of every object that is not finally gone."""
        return {**self._tcps, **self._stores}

    def _tcp(self, uid: str, event: Event) -> None:
        if event.name == "delete.completed":
            self._tcps.pop(uid, None)
            return
        memory = self._tcps.get(uid)
        if memory is None:
            memory = TcpMemory(uid=uid, namespace=event.namespace or "", name=event.object_name or "", version="")
            self._tcps[uid] = memory
        found = _mapping(event.data, "object")
        memory.version = str(found.get("resourceVersion") or memory.version)
        memory.api_version = str(found.get("apiVersion") or memory.api_version)
        _learn_operation(memory, event)
        memory.facts = _facts(memory, event)
        memory.endpoint_told = bool(memory.facts.endpoint)
        memory.created = bool(memory.facts.version) and memory.operation("create") is None
        _learn_state(memory, event)

    def _store(self, uid: str, event: Event) -> None:
        if event.name == "delete.completed":
            self._stores.pop(uid, None)
            return
        memory = self._stores.get(uid)
        if memory is None:
            memory = StoreMemory(uid=uid, name=event.object_name or "", version="")
            self._stores[uid] = memory
        found, state = _mapping(event.data, "object"), _mapping(event.data, "state")
        memory.version = str(found.get("resourceVersion") or memory.version)
        memory.labels = dict(event.labels)
        memory.ready = state.get("ready")
        memory.driver = str(state.get("driver") or "")
        memory.deleting = memory.deletion_told = bool(state.get("deleting"))
        used = set(memory.used_by) | set(event.data.get("added") or event.data.get("tenants") or ())
        memory.used_by = tuple(sorted(used - set(event.data.get("removed") or ())))


def _mapping(data: Any, name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _facts(memory: TcpMemory, event: Event) -> Facts:
    found, state = _mapping(event.data, "object"), _mapping(event.data, "state")
    replicas = _mapping(state, "replicas")
    ready = replicas.get("ready")
    version, store = str(state.get("version") or ""), str(state.get("dataStore") or "")
    return Facts(
        generation=int(found.get("generation") or 0),
        word=str(state.get("status") or ""),
        version=version,
        store=store,
        replicas=-1 if ready is None else int(ready),
        ready=int(ready or 0),
        wanted_version=_target(memory, "upgrade", version),
        wanted_store=_target(memory, "migrate", store),
        wanted=int(replicas.get("wanted", Facts().wanted)),
        verbs=tuple(event.data.get("verbs") or memory.facts.verbs),
        endpoint=str(state.get("endpoint") or ""),
        kubeconfig_secret=str(state.get("kubeconfig") or ""),
        bootstrap=_RECALLED if version or event.name == "bootstrap.completed" else memory.facts.bootstrap,
        paused=bool(state.get("paused")),
        labels=dict(event.labels),
        deleting=memory.facts.deleting or (_seconds(event) if state.get("deleting") else 0.0),
    )


def _target(memory: TcpMemory, kind: str, running: str) -> str:
    operation = memory.operation(kind)
    return str(operation.target) if operation is not None else running


def _seconds(event: Event) -> float:
    return event.time.timestamp() if event.time is not None else 1.0


def _learn_operation(memory: TcpMemory, event: Event) -> None:
    told = _mapping(event.data, "operation")
    kind, step = event.name.split(".") if event.name.count(".") == 1 else ("", "")
    if not event.operationid or kind not in STEPS:
        return
    operation = memory.operation(kind)
    if step in _ENDS:
        memory.operations = [found for found in memory.operations if found is not operation]
        return
    if operation is None:
        operation = _opened(kind, event, told)
        memory.operations.append(operation)
    if step == "stalled":
        operation.stalled = True
    elif step in STEPS[kind]:
        operation.reached = operation.told = STEPS[kind].index(step) + 1
        operation.started_at = seconds_of(told.get("startedAt")) or operation.started_at


def _opened(kind: str, event: Event, told: dict[str, Any]) -> OpenOperation:
    owner, _, asked_by = (event.operationid or "").partition(f".{kind}")
    epoch = owner.rpartition("~")[2] if "~" in owner else "1"
    return OpenOperation(
        kind=kind,
        asked_by=asked_by.removeprefix("."),
        epoch=int(epoch) if epoch.isdigit() else 1,
        opened=_seconds(event),
        requested_at=seconds_of(told.get("requestedAt")) or None,
        started_at=seconds_of(told.get("startedAt")) or None,
        source=told.get("from"),
        target=told.get("to"),
        version=str(_mapping(event.data, "object").get("resourceVersion") or ""),
    )


def _learn_state(memory: TcpMemory, event: Event) -> None:
    facts = memory.facts
    match event.name:
        case "state.ready":
            memory.ready, memory.down_since = True, 0.0
        case "state.notready":
            memory.ready, memory.degraded = False, False
            memory.down_since = _seconds(event) if facts.wanted else 0.0
        case "state.degraded" | "state.recovered":
            memory.degraded = event.name == "state.degraded"
        case "outage.started" | "outage.ended":
            memory.outage_since = memory.down_since if event.name == "outage.started" else 0.0
        case "writes.limited" | "writes.restored":
            memory.limited = event.name == "writes.limited"
        case "delete.finalized":
            memory.farewell = Farewell(gone=_seconds(event))
        case _:
            pass
    if memory.ready is None and memory.created:
        memory.ready = True if facts.serves else False if facts.fallen else None
        memory.unclear = memory.ready is None
