"""A TenantControlPlane to be shaped step by step, and a watcher that shows each step to the diff."""

import copy
from datetime import UTC, datetime
from typing import Any, Self

import msgspec
import orjson

from publisher.lifecycle.decision import Decision
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.looks import Found, Look, LookAnswer
from publisher.lifecycle.memory import ObjectMemory
from publisher.lifecycle.policy import Policy
from publisher.observation import Changed, Resource, SyncEnded, SyncItem, SyncStarted
from publisher.snapshot import DATASTORE_DECODER, TCP_DECODER

__all__ = ["START", "Store", "Tcp", "Watcher"]

START = datetime(2026, 12, 1, 14, 0, tzinfo=UTC).timestamp()

_CA = {"checksum": "ca-1", "secretName": "acme-ca"}


class Tcp:
    """One object as the API would give it; each step moves its resourceVersion, each edit its generation too."""

    _uids = 0

    def __init__(
        self,
        name: str = "acme",
        *,
        namespace: str = "tenants",
        uid: str | None = None,
        replicas: int | None = 2,
        version: str = "v1.34.1",
        store: str = "default",
        old: bool = False,
    ) -> None:
        Tcp._uids += 1
        self.old = old
        """A release of 2024: no observedGeneration."""
        deployment = {} if replicas is None else {"replicas": replicas}
        self.object: dict[str, Any] = {
            "apiVersion": "kamaji.clastix.io/v1alpha1",
            "kind": "TenantControlPlane",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid or f"uid-{Tcp._uids}",
                "resourceVersion": "100",
                "generation": 1,
                "creationTimestamp": "2026-12-01T14:00:00Z",
                "labels": {"tier": "gold"},
                "finalizers": ["finalizer.kamaji.clastix.io"],
            },
            "spec": {
                "kubernetes": {"version": version},
                "dataStore": store,
                "controlPlane": {"deployment": deployment},
                "networkProfile": {"port": 6443},
            },
        }

    @property
    def uid(self) -> str:
        """Its uid."""
        return str(self.object["metadata"]["uid"])

    @property
    def version(self) -> str:
        """Its resourceVersion."""
        return str(self.object["metadata"]["resourceVersion"])

    def touch(self) -> Self:
        """Write it without changing anything that matters."""
        self.object["metadata"]["resourceVersion"] = str(int(self.version) + 1)
        return self

    def set(self, path: str, value: Any) -> Self:
        """Write one field anywhere; None removes it."""
        *parents, last = path.split("/")
        place = self.object
        for name in parents:
            place = place.setdefault(name, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
        return self.touch()

    def edit(self, path: str, value: Any) -> Self:
        """Edit spec: its generation moves."""
        self.object["metadata"]["generation"] += 1
        return self.set(f"spec/{path}", value)

    def wants(self, *, version: str | None = None, store: str | None = None, replicas: int | None = None) -> Self:
        """Edit what operations are about."""
        if version is not None:
            self.edit("kubernetes/version", version)
        if store is not None:
            self.edit("dataStore", store)
        if replicas is not None:
            self.edit("controlPlane/deployment/replicas", replicas)
        return self

    def status(
        self,
        word: str | None = None,
        *,
        version: str | None = None,
        ready: int | None = None,
        exist: int | None = None,
        updated: int | None = None,
        rollout: int | None = None,
        store: str | None = None,
        seen: bool = True,
    ) -> Self:
        """Let the operator write status; ``exist`` follows ``ready`` unless it is given."""
        status = self.object.setdefault("status", {})
        resources = status.setdefault("kubernetesResources", {})
        if word is not None:
            resources.setdefault("version", {})["status"] = word
        if version is not None:
            resources.setdefault("version", {})["version"] = version
        if ready is not None:
            number = ready if exist is None else exist
            self._deployment(resources, ready, number, number if updated is None else updated, rollout)
        if store is not None:
            status.setdefault("storage", {})["dataStoreName"] = store
        if seen and not self.old:
            status["observedGeneration"] = self.object["metadata"]["generation"]
        return self.touch()

    @staticmethod
    def _deployment(resources: dict[str, Any], ready: int, exist: int, updated: int, rollout: int | None) -> None:
        found = {"replicas": exist, "readyReplicas": ready, "updatedReplicas": updated, "observedGeneration": rollout}
        before = resources.setdefault("deployment", {})
        kept = {name: before[name] for name in ("conditions", "observedGeneration") if name in before}
        resources["deployment"] = kept | {name: value for name, value in found.items() if value}

    def running(self, *, replicas: int = 2) -> Self:
        """Let it be built and serving."""
        self.set("status/certificates", {"ca": dict(_CA), "apiServer": {"checksum": "api-1"}})
        self.set("status/kubeconfig/admin", {"checksum": "kube-1", "secretName": "acme-admin-kubeconfig"})
        self.set("status/controlPlaneEndpoint", "10.0.0.1:6443")
        self.set("status/storage/config", {"checksum": "config-1", "secretName": "acme-datastore-config"})
        spec = self.object["spec"]
        return self.status(
            "Ready", version=spec["kubernetes"]["version"], ready=replicas, store=spec["dataStore"], rollout=1
        )

    def delete(self, *, finalizers: list[str] | None = None) -> Self:
        """Ask for its deletion."""
        self.object["metadata"]["generation"] += 1
        if finalizers is not None:
            self.object["metadata"]["finalizers"] = finalizers
        return self.set("metadata/deletionTimestamp", "2026-12-01T14:30:00Z")

    def copy(self) -> "Tcp":
        """Another one that is the same."""
        other = copy.copy(self)
        other.object = copy.deepcopy(self.object)
        return other


class Store:
    """A DataStore as the API would give it."""

    def __init__(self, name: str = "default", *, used_by: list[str] | None = None, ready: bool | None = True) -> None:
        self.object: dict[str, Any] = {
            "apiVersion": "kamaji.clastix.io/v1alpha1",
            "kind": "DataStore",
            "metadata": {"name": name, "uid": f"store-{name}", "resourceVersion": "10", "generation": 1},
            "spec": {"driver": "etcd"},
        }
        self.status(ready=ready, used_by=used_by)

    def status(self, *, ready: bool | None = True, used_by: list[str] | None = None) -> Self:
        """Let the operator write status."""
        status: dict[str, Any] = {} if ready is None else {"ready": ready}
        if used_by:
            status["usedBy"] = used_by
        self.object["status"] = status
        return self.touch()

    def touch(self) -> Self:
        """Write it without changing anything that matters."""
        meta = self.object["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        return self


class Watcher:
    """Shows objects to a fleet, with a clock of its own, and keeps what it said.

    Args:
        existing: objects of the baseline.
        policy: settings of the diff.
    """

    def __init__(self, *existing: Tcp | Store, policy: Policy | None = None) -> None:
        self.fleet = Fleet(policy or Policy())
        self.now = START
        self._kept: dict[str, bytes] = {}
        self.said: list[Decision] = []
        self.at_baseline = self.relist(*existing)

    def _take(self, decisions: list[Decision]) -> list[str]:
        self.said += decisions
        return [decision.name for decision in decisions]

    def see(self, item: Tcp | Store, kind: str = "MODIFIED", *, after: float = 1.0) -> list[str]:
        """Show a watch line; the names of what is said."""
        self.now += after
        return self._take(self._observe(orjson.dumps({"type": kind, "object": item.object}), item))

    def _observe(self, line: bytes, item: Tcp | Store) -> list[Decision]:
        if isinstance(item, Store):
            return self.fleet.observe(Changed(Resource.DATASTORES, DATASTORE_DECODER.line(line)), self.now)
        return self.fleet.observe(Changed(Resource.TENANTCONTROLPLANES, TCP_DECODER.line(line)), self.now)

    def relist(self, *items: Tcp | Store, after: float = 1.0, rewound: str | None = None) -> list[str]:
        """Show a complete list of both kinds."""
        self.now += after
        said: list[Decision] = []
        said += self._list(Resource.DATASTORES, [item for item in items if isinstance(item, Store)], rewound)
        said += self._list(Resource.TENANTCONTROLPLANES, [item for item in items if isinstance(item, Tcp)], rewound)
        return self._take(said)

    def _list(self, resource: Resource, items: list[Any], rewound: str | None) -> list[Decision]:
        decoder: Any = TCP_DECODER if resource is Resource.TENANTCONTROLPLANES else DATASTORE_DECODER
        said = self.fleet.observe(SyncStarted(resource, rewound), self.now)
        for item in items:
            said += self.fleet.observe(SyncItem(resource, decoder.item(orjson.dumps(item.object))), self.now)
        return said + self.fleet.observe(SyncEnded(resource, "1000"), self.now)

    def wait(self, seconds: float) -> list[str]:
        """Let time pass; the names of what is said."""
        until = self.now + seconds
        said: list[Decision] = []
        while (due := self.fleet.next_deadline()) is not None and due <= until:
            self.now = max(self.now, due)
            said += self.fleet.tick(self.now)
        self.now = until
        return self._take(said + self.fleet.tick(self.now))

    def looks(self) -> list[Look]:
        """Questions that are due."""
        return self.fleet.looks(self.now)

    def answer(self, look: Look, *found: Found, unverified: tuple[str, ...] = ()) -> list[str]:
        """Answer a question; the names of what is said."""
        kinds = ("Deployment", "Service", "ConfigMap", "Secret")
        verified = tuple(kind for kind in kinds if kind not in unverified)
        return self._take(self.fleet.looked(LookAnswer(look, found, verified, unverified), self.now))

    def restart(self) -> None:
        """Go on in another process, with what was remembered as bytes."""
        for key, memory in self.fleet.changed().items():
            self._kept[key] = msgspec.msgpack.encode(memory)
        read = {key: msgspec.msgpack.decode(raw, type=ObjectMemory | None) for key, raw in self._kept.items()}
        memories: dict[str, ObjectMemory] = {key: memory for key, memory in read.items() if memory is not None}
        self.fleet = Fleet.restore(self.fleet.policy, memories, epoch=self.fleet.epoch)

    @property
    def last(self) -> Decision:
        """The last that was said."""
        return self.said[-1]

    def find(self, name: str) -> Decision:
        """The last event of a name."""
        return next(decision for decision in reversed(self.said) if decision.name == name)
