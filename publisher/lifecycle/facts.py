"""What is compared: the facts of one TenantControlPlane, merged of what is seen now and what was known.

An absent or misshapen block says nothing, so what was known stays; versions, stores, endpoints, names and checksums
keep their last non-empty value. Two equal facts mean that nothing happened, whatever the resourceVersion says.
"""

from typing import Any

from msgspec import Struct, field

__all__ = ["AccessPoint", "Facts", "Trouble"]

_SERVING = frozenset({"Ready", "WriteLimited"})
_FALLEN = frozenset({"NotReady", "Sleeping"})


class AccessPoint(Struct, frozen=True, array_like=True, order=True, gc=False):
    """An access point of a Gateway."""

    value: str
    port: int
    urls: tuple[str, ...] = ()


class Trouble(Struct, frozen=True, array_like=True, gc=False):
    """A Deployment's condition that is not as it should be."""

    type: str
    status: str
    reason: str
    message: str


class Facts(Struct, frozen=True, omit_defaults=True, gc=False):
    """What is known of one TenantControlPlane."""

    generation: int = 0
    observed: int = 0
    """status.observedGeneration; 0 where the release has none."""
    word: str = ""
    """status.kubernetesResources.version.status, as it is; empty while unknown."""
    version: str = ""
    """The version in status."""
    store: str = ""
    """The DataStore in status."""
    replicas: int = -1
    """Replicas that exist; -1 while no Deployment block was seen."""
    ready: int = 0
    updated: int = 0
    rollout: int = 0
    """The Deployment's observedGeneration."""
    troubles: tuple[Trouble, ...] = ()
    wanted_version: str = ""
    wanted_store: str = ""
    wanted: int = 2
    """Replicas that are wanted."""
    verbs: tuple[str, ...] = ()
    """What spec.writePermissions blocks."""
    spec_seen: int = 0
    """A checksum of the spec's bytes: equal ones need no second reading."""
    endpoint: str = ""
    access_points: tuple[AccessPoint, ...] = ()
    kubeconfig_secret: str = ""
    kubeconfig: str = ""
    """The admin kubeconfig's checksum."""
    certificates: dict[str, str] = field(default_factory=dict)
    """Checksums by name: those of status.certificates, ``datastore`` and ``konnectivity``."""
    credentials: str = ""
    """status.storage.config.checksum."""
    bootstrap: str = ""
    """status.kubeadmPhase.bootstrapToken.checksum."""
    soot_failed: bool = False
    paused: bool = False
    migration_timeout: float = 0.0
    """Seconds that Kamaji gives a migration of this object; 0 where it says nothing of its own."""
    addons: dict[str, bool] = field(default_factory=dict)
    missing: str = ""
    """The first empty block of status while no version is known: the step that a creation stands at."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    """Those that events carry."""
    finalizers: tuple[str, ...] = ()
    deleting: float = 0.0
    """metadata.deletionTimestamp, in seconds since 1970; 0 while it is absent."""
    available: str = ""
    """The Deployment's condition Available."""
    available_since: float = 0.0

    @property
    def serves(self) -> bool:
        """The API answers: the status says so and a replica is ready."""
        return self.word in _SERVING and self.ready > 0

    @property
    def asleep(self) -> bool:
        """No replica is wanted and none exists, whatever the status word."""
        return self.wanted == 0 and self.replicas == 0

    @property
    def fallen(self) -> bool:
        """It is certain that it does not serve; neither this nor ``serves`` keeps what was."""
        return self.word in _FALLEN or (self.replicas >= 0 and self.ready == 0)

    @property
    def seen(self) -> bool:
        """The operator has seen this generation, where the release can tell."""
        return not self.observed or self.observed == self.generation

    @property
    def rolled_out(self) -> bool:
        """Every replica is of the newest template."""
        return self.replicas > 0 and self.updated >= self.replicas

    def state(self) -> dict[str, Any]:
        """``data.state``."""
        return {
            "status": self.word or None,
            "version": self.version or None,
            "replicas": {"wanted": self.wanted, "ready": self.ready if self.replicas >= 0 else None},
            "endpoint": self.endpoint or None,
            "dataStore": self.store or None,
            "kubeconfig": self.kubeconfig_secret or None,
            "paused": self.paused,
            "deleting": bool(self.deleting),
        }
