"""What is remembered of each object: all that a decision can depend on, small, and encodable for a journal."""

from typing import Any

from msgspec import Struct, field

from publisher.lifecycle.facts import Facts
from publisher.snapshot.spec import Digest

__all__ = ["Farewell", "LoopMemory", "ObjectMemory", "OpenOperation", "StoreMemory", "TcpMemory"]


class OpenOperation(Struct, omit_defaults=True):
    """An operation that has begun and not ended."""

    kind: str
    asked_by: str
    """The generation that asked for it, a rotation's checksum, or empty."""
    epoch: int
    """The epoch in which it was opened: its id stays what it was."""
    opened: float
    """Seconds since 1970, as all times here: its limit counts from then."""
    requested_at: float | None = None
    started_at: float | None = None
    source: Any = None
    target: Any = None
    reached: int = 0
    """Steps that it has taken, an index into the steps of its kind."""
    told: int = 0
    """Steps that were told; fewer than reached when it was found open in the baseline."""
    stalled: bool = False
    """``.stalled`` was told."""
    version: str = ""
    """The resourceVersion at which it was opened."""
    rollout: int = 0
    """The Deployment's observedGeneration at which it was opened."""
    moved: list[str] = field(default_factory=list)
    """Certificates that moved since it was opened."""
    reconstructed: bool = False
    """It was found by comparing."""


class LoopMemory(Struct, omit_defaults=True):
    """Times of changes that nobody asked for, by kind, and what loops."""

    times: dict[str, list[float]] = field(default_factory=dict)
    """The last changes of each kind, oldest first."""
    looping: dict[str, int] = field(default_factory=dict)
    """Kinds that loop, with the number of changes since it was told."""
    since: float = 0.0
    last: float = 0.0
    """When what loops changed last."""


class Farewell(Struct, omit_defaults=True):
    """What is still to be said of an object that is gone."""

    gone: float
    """When it was seen to be gone."""
    clean: bool = False
    """Nothing that it owned is left."""
    verified: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    """``Kind/name`` of what was left behind on purpose."""
    left: tuple[str, ...] = ()
    """``Kind/name`` of what is not gone yet."""
    look_at: float = 0.0
    """When to ask next."""
    looks: int = 0
    """How often it was asked."""


class TcpMemory(Struct, tag="tcp", omit_defaults=True):
    """One TenantControlPlane."""

    uid: str
    namespace: str
    name: str
    version: str
    """The last resourceVersion."""
    api_version: str = ""
    facts: Facts = field(default_factory=Facts)
    spec: Digest = field(default_factory=Digest)
    epoch: int = 1
    counter: int = 0
    """Events told in this epoch."""
    created: bool = False
    """Its creation has completed."""
    ready: bool | None = None
    """What was told or, in the baseline, seen; None while it never was ready."""
    unclear: bool = False
    """Found in the baseline in a status that says neither: it may fall before it was told ready."""
    degraded: bool = False
    limited: bool = False
    bootstrap_failures: int = 0
    """How often Kamaji marked that it failed inside the tenant, since a bootstrap completed."""
    bootstrap_failed_at: float = 0.0
    """Since when that mark stands; 0 while it does not, or once it was told."""
    bootstrap_failure_told: bool = False
    endpoint_told: bool = False
    """``endpoint.assigned`` was told, or was there in the baseline."""
    down_since: float = 0.0
    """When the outage's clock began; 0 while it does not run."""
    outage_since: float = 0.0
    """When the outage began, once it was told."""
    flips: int = 0
    """Changes of the status word since it is not ready."""
    operations: list[OpenOperation] = field(default_factory=list)
    used: dict[str, str] = field(default_factory=dict)
    """The last asker of each kind of operation in this epoch: it opens at most one."""
    rotated: list[str] = field(default_factory=list)
    """Checksums of CAs that a rotation was opened for in this epoch."""
    loop: LoopMemory | None = None
    orphaned: bool = False
    """It is being deleted with the order to leave behind what it owned."""
    job_asked: float = 0.0
    """When the Job of a migration that takes too long was asked for."""
    farewell: Farewell | None = None

    def operation(self, kind: str) -> OpenOperation | None:
        """The open operation of a kind."""
        for found in self.operations:
            if found.kind == kind:
                return found
        return None

    @property
    def deleting(self) -> bool:
        """Its deletion has begun."""
        return self.operation("delete") is not None


class StoreMemory(Struct, tag="store", omit_defaults=True):
    """One DataStore."""

    uid: str
    name: str
    version: str
    api_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    driver: str = ""
    ready: bool | None = None
    watched_from_birth: bool = False
    """Seen when it was created: its first word about being ready is news."""
    used_by: tuple[str, ...] = ()
    deleting: bool = False
    deletion_told: bool = False
    """``delete.started`` was told, or the baseline found it being deleted."""
    deletion_silent: bool = False
    """The baseline found it being deleted: that is still to be said before its end."""
    epoch: int = 1
    counter: int = 0


ObjectMemory = TcpMemory | StoreMemory
"""What a journal stores for a key; decode with ``msgspec.msgpack.decode(raw, type=ObjectMemory)``."""
