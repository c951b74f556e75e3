"""Control planes of the simulator that live as a test wants, all at once or write by write."""

import random
from collections.abc import Iterator

from kamaji_events.simulator import Store
from kamaji_events.simulator.body import datastore
from kamaji_events.simulator.tenant import Tenant
from kamaji_events.simulator.version import Object

__all__ = ["STORES", "Invented", "furnish"]

STORES = ("default", "other")
"""DataStores that ``furnish`` makes."""


def furnish(store: Store) -> Store:
    """Put the DataStores into a cluster; gives it back."""
    for name in STORES:
        store.create("datastores", datastore(name), manager="kubectl-create")
        found = store.get("datastores", None, name)
        assert found is not None
        store.update_status("datastores", found | {"status": {"ready": True}})
    return store


class Invented:
    """One control plane; each method makes every write of it at once and gives back the object's name.

    Args:
        store: the cluster.
        name: its name; its namespace is ``tenants``.
        seed: makes checksums.
    """

    def __init__(self, store: Store, name: str, *, seed: int = 0) -> None:
        self.subject = f"tenants/{name}"
        self._tenant = Tenant(store, random.Random(f"{seed}.{name}"), "tenants", name)  # noqa: S311 - to be repeated

    def creating(self, version: str = "v1.34.1", *, replicas: int = 2, store: str = STORES[0]) -> Iterator[float]:
        """Write by write; see ``create``."""
        return self._tenant.create(version=version, replicas=replicas, store=store, labels={"tier": "gold"})

    def upgrading(self, version: str) -> Iterator[float]:
        """Write by write; see ``upgrade``."""
        return self._tenant.edit(lambda content: _set(content, ("kubernetes", "version"), version))

    def scaling(self, replicas: int) -> Iterator[float]:
        """Write by write; see ``scale``."""
        return self._tenant.edit(lambda content: _set(content, ("controlPlane", "deployment", "replicas"), replicas))

    def migrating(self, store: str) -> Iterator[float]:
        """Write by write; see ``migrate``."""
        return self._tenant.edit(lambda content: _set(content, ("dataStore",), store))

    def rotating(self) -> Iterator[float]:
        """Write by write: another certificate authority."""
        return self._tenant.rotate_ca()

    def relabelling(self, tier: str) -> Iterator[float]:
        """Write by write: another label."""

        def change(content: Object) -> None:
            content["metadata"]["labels"]["tier"] = tier

        return self._tenant.edit(change)

    def failing(self) -> Iterator[float]:
        """Write by write: all pods fail and come back."""
        return self._tenant.lose_pods(100)

    def deleting(self) -> Iterator[float]:
        """Write by write; see ``delete``."""
        return self._tenant.delete()

    def create(self, version: str = "v1.34.1", *, replicas: int = 2) -> str:
        """Create it and bring it up."""
        return self._all(self.creating(version, replicas=replicas))

    def upgrade(self, version: str) -> str:
        """Another version, rolled out."""
        return self._all(self.upgrading(version))

    def scale(self, replicas: int) -> str:
        """Another number of replicas."""
        return self._all(self.scaling(replicas))

    def delete(self) -> str:
        """Delete it with all that it owns."""
        return self._all(self.deleting())

    def _all(self, steps: Iterator[float]) -> str:
        for _ in steps:
            pass
        return self.subject


def _set(content: Object, path: tuple[str, ...], value: object) -> None:
    block = content["spec"]
    for word in path[:-1]:
        block = block[word]
    block[path[-1]] = value
