"""Fills a store with ready control planes at once, for measurements: bytes that were made once, names put in."""

import random
import uuid

from kamaji_events.simulator.kinds import Kind, kind_of
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.template import Template, Vocabulary
from kamaji_events.simulator.tenant import Tenant
from kamaji_events.simulator.version import Object, Version

__all__ = ["fill"]

_TENANTS_PER_STORE = 100
_OWNED = ("services", "configmaps", "secrets", "deployments")


def fill(store: Store, many: int, *, seed: int = 0, namespaces: int = 10, owned: bool = False) -> None:
    """Let ready control planes be there, as if they always had been: no watch tells them.

    Args:
        store: an empty one.
        many: how many.
        seed: makes uids.
        namespaces: over how many namespaces they are spread.
        owned: also what they own: 14 objects each.
    """
    rng = random.Random(seed)
    patterns, vocabulary = _patterns(owned=owned)
    users: dict[str, list[str]] = {}
    for number in range(many):
        name, namespace = f"tcp-{number:05}", f"tenants-{number % namespaces}"
        users.setdefault(f"store-{number // _TENANTS_PER_STORE}", []).append(f"{namespace}/{name}")
        replacing = {"name": name, "namespace": namespace, "store": f"store-{number // _TENANTS_PER_STORE}"}
        values = [replacing.get(kind) or _uid(rng) for kind, _ in vocabulary.words]
        for kind, template in patterns:
            store.version += 1
            filled = template.fill([str(store.version).encode(), *(value.encode() for value in values)])
            store.load(Version.of(kind, filled))
    for name, subjects in users.items():
        store.version += 1
        store.load(
            Version.from_object(kind_of("datastores"), _datastore(name, sorted(subjects), store.version, _uid(rng)))
        )
    store.begin_at(store.version)


def _patterns(*, owned: bool) -> tuple[list[tuple[Kind, Template]], Vocabulary]:
    """One control plane that is ready, as templates."""
    scratch, rng = Store(), random.Random(0)
    tenant = Tenant(scratch, rng, "pattern-namespace", "pattern")
    for _ in tenant.create(version="v1.34.1", replicas=2, store="pattern-store", labels={"tier": "gold"}):
        pass
    kinds = [kind_of(plural) for plural in ("tenantcontrolplanes", *(_OWNED if owned else ()))]
    found = [(kind, version) for kind in kinds for version in scratch.state(kind.plural).values()]
    uids = [version.meta.uid for _, version in found]
    vocabulary = Vocabulary("pattern", "pattern-namespace", uids, ["pattern-store"])
    return [(kind, vocabulary.template(version.content())) for kind, version in found], vocabulary


def _datastore(name: str, users: list[str], version: int, uid: str) -> Object:
    metadata = {"name": name, "uid": uid, "resourceVersion": str(version), "generation": 1}
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    kind = kind_of("datastores")
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": metadata,
        "spec": {"driver": "etcd", "endpoints": [f"{name}.kamaji-system.svc:2379"]},
        "status": {"ready": True, "observedGeneration": 1, "usedBy": users},
    }


def _uid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
