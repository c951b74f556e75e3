"""Makes decisions: numbers them, names them and dresses them with what every event says."""

from typing import Any

from kamaji_events import identity
from kamaji_events.catalogue import Kind, lookup
from publisher.lifecycle.decision import Actor, Decision, OperationFacts
from publisher.lifecycle.memory import OpenOperation, TcpMemory
from publisher.snapshot.actor import manager_of
from publisher.snapshot.tcp import TcpSnapshot

__all__ = ["Teller"]

_API_VERSION = "kamaji.clastix.io/v1alpha1"


class Teller:
    """Tells about one object at one moment.

    Args:
        memory: the object's; its counter grows with each event.
        now: when it is seen.
        epoch: the fleet's.
        snapshot: what is seen, None for what the clock or an answer decides.
        reconstructed: it happened while nobody watched.
    """

    def __init__(
        self,
        memory: TcpMemory,
        now: float,
        *,
        epoch: int,
        snapshot: TcpSnapshot | None = None,
        reconstructed: bool = False,
    ) -> None:
        self.memory = memory
        self.now = now
        self.epoch = epoch
        self.snapshot = snapshot
        self.reconstructed = reconstructed
        self.decisions: list[Decision] = []
        _enter_epoch(memory, epoch)

    def tell(
        self,
        name: str,
        *,
        reason: tuple[str, str] | None = None,
        change: tuple[str, Any, Any] | None = None,
        operation: OpenOperation | None = None,
        ended: bool = False,
        seconds: float | None = None,
        asked: list[str] | None = None,
        own_version: bool = True,
        **details: Any,
    ) -> None:
        """Say one event.

        Args:
            name: two words of the catalogue.
            reason: a CamelCase word and a sentence.
            change: field, from, to.
            operation: the operation that it belongs to.
            ended: the operation ends with it.
            seconds: when it happened, ``now`` by default.
            asked: paths of the object that somebody changed: whoever manages them is the actor.
            own_version: False for what is concluded from no resourceVersion.
            details: members of ``data`` that only this event has.
        """
        memory = self.memory
        memory.counter += 1
        at = self.now if seconds is None else seconds
        told = _operation_facts(memory, operation, at if ended else None) if operation else None
        self.decisions.append(
            Decision(
                kind=Kind.TENANTCONTROLPLANE,
                name=name,
                id=self._id(name, told),
                sequence=identity.sequence(self.epoch, memory.counter),
                uid=memory.uid,
                namespace=memory.namespace,
                object_name=memory.name,
                seconds=at,
                object=self._object(own_version=own_version),
                state=memory.facts.state(),
                change=change,
                operation=told,
                actor=self._actor(asked) if asked else None,
                reason=reason,
                reconstructed=self.reconstructed,
                details=details,
            )
        )

    def _id(self, name: str, operation: OperationFacts | None) -> str:
        if operation is not None:
            return f"{operation.id}.{lookup(Kind.TENANTCONTROLPLANE, name).second}"
        return identity.state_id(self.memory.uid, self.memory.version, name, epoch=self.epoch)

    def _object(self, *, own_version: bool) -> dict[str, Any]:
        memory, facts = self.memory, self.memory.facts
        return {
            "apiVersion": memory.api_version or _API_VERSION,
            "kind": "TenantControlPlane",
            "namespace": memory.namespace,
            "name": memory.name,
            "uid": memory.uid,
            "generation": facts.generation or None,
            "resourceVersion": memory.version if own_version else None,
            "labels": facts.labels,
            "annotations": facts.annotations,
        }

    def _actor(self, paths: list[str]) -> Actor | None:
        if self.snapshot is None or self.snapshot.metadata is None:
            return None
        found = manager_of(self.snapshot.metadata.managedFields, paths)
        return Actor(found.name, found.time) if found is not None else None


def _enter_epoch(memory: TcpMemory, epoch: int) -> None:
    """In a new epoch an object counts from one again, and every operation can be asked for once again."""
    if memory.epoch == epoch:
        return
    memory.epoch = epoch
    memory.counter = 0
    memory.used = {}
    memory.rotated = []


def _operation_facts(memory: TcpMemory, operation: OpenOperation, ended: float | None) -> OperationFacts:
    return OperationFacts(
        id=identity.operation_id(memory.uid, operation.kind, operation.asked_by or None, epoch=operation.epoch),
        kind=operation.kind,
        requested_at=operation.requested_at,
        started_at=operation.started_at,
        ended_at=ended,
        source=operation.source,
        target=operation.target,
    )
