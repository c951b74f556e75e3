"""The operations of a TenantControlPlane: each opens once, takes its steps once, and ends once.

First the open ones are judged, in the order of the contract's table, each against its own target; then new ones
open, likewise. Deletion closes what is open and comes last, see ``deletion``.
"""

from collections.abc import Mapping
from typing import Any, Final

from kamaji_events.catalogue import OPERATIONS
from publisher.lifecycle.memory import OpenOperation
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.teller import Teller

__all__ = ["STEPS", "open_operation", "rank", "tell_steps"]

STEPS: Final[Mapping[str, tuple[str, ...]]] = {
    "create": ("started",),
    "upgrade": ("requested", "started"),
    "migrate": ("requested", "started"),
    "scale": ("started",),
    "sleep": ("started",),
    "wake": ("started",),
    "rotation": ("started",),
    "delete": ("started", "finalized"),
}
"""The steps before an operation's end."""

ASKED: Final[Mapping[str, str]] = {
    "create": "metadata.name",
    "upgrade": "spec.kubernetes.version",
    "migrate": "spec.dataStore",
    "scale": "spec.controlPlane.deployment.replicas",
    "sleep": "spec.controlPlane.deployment.replicas",
    "wake": "spec.controlPlane.deployment.replicas",
}
"""The field with which somebody asks for it."""

_REPLICAS = ("scale", "sleep", "wake")
_RANKS: Final[Mapping[str, int]] = {kind: rank for rank, kind in enumerate(OPERATIONS)}


def tell_steps(teller: Teller, operation: OpenOperation) -> None:
    """Say the steps that were taken and not told."""
    steps = STEPS[operation.kind]
    while operation.told < operation.reached:
        step = operation.told
        operation.told += 1
        field = ASKED.get(operation.kind)
        first = step == 0
        teller.tell(
            f"{operation.kind}.{steps[step]}",
            reason=_step_reason(operation, steps[step]),
            change=(field, operation.source, operation.target)
            if first and field and operation.kind != "create"
            else None,
            operation=operation,
            seconds=operation.started_at if operation.kind in ("create", "delete") and first else None,
            asked=[field] if first and field else None,
        )


def _step_reason(operation: OpenOperation, step: str) -> tuple[str, str] | None:
    kind, source, target = operation.kind, operation.source, operation.target
    told = {
        "create.started": ("Created", "The object is there; the operator has to build it."),
        "upgrade.requested": ("VersionRequested", f"{target} is wanted, {source} runs."),
        "upgrade.started": ("Upgrading", f"The operator works on {target}."),
        "migrate.requested": ("DataStoreRequested", f"DataStore {target} is wanted, {source} is used."),
        "migrate.started": ("Migrating", f"The operator moves the data to {target}; writes are blocked meanwhile."),
        "scale.started": ("ReplicasRequested", f"{target} replicas are wanted instead of {source}."),
        "sleep.started": ("SleepRequested", "No replica is wanted any more."),
        "wake.started": ("WakeRequested", f"{target} replicas are wanted after none."),
        "rotation.started": ("CertificateAuthorityMoved", "The certificate authority is another one now."),
        "delete.started": ("DeletionRequested", "The object has a deletionTimestamp."),
        "delete.finalized": ("ObjectGone", "The object is gone from the API; what it owned may still be there."),
    }
    return told.get(f"{kind}.{step}")


def open_operation(
    moment: Moment, kind: str, asked_by: str, *, source: Any = None, target: Any = None, at: float | None = None
) -> OpenOperation | None:
    """Open an operation, unless one of its kind was opened for the same asker before."""
    memory, now = moment.memory, moment.teller.now
    if kind in ("upgrade", "migrate", *_REPLICAS):
        if _used(memory.used.get(kind), asked_by):
            return None
        memory.used[kind] = asked_by
    begun = now if at is None else at
    operation = OpenOperation(
        kind=kind,
        asked_by=asked_by,
        epoch=moment.teller.epoch,
        opened=now,
        requested_at=begun if "requested" in STEPS[kind] else None,
        started_at=None if "requested" in STEPS[kind] else begun,
        source=source,
        target=target,
        reached=1,
        version=memory.version,
        rollout=moment.old.rollout,
        reconstructed=moment.reconstructed,
    )
    memory.operations.append(operation)
    return operation


def _used(last: str | None, asked_by: str) -> bool:
    if last is None:
        return False
    return int(asked_by) <= int(last) if asked_by.isdigit() and last.isdigit() else asked_by == last


def rank(operation: OpenOperation) -> int:
    """Its place in the order of the contract's table."""
    return _RANKS[operation.kind]
