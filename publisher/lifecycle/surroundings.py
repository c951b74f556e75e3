"""What surrounds an object: its namesakes, its neighbours in the namespace, and the DataStores."""

from collections import Counter

from publisher.lifecycle.memory import StoreMemory, TcpMemory

__all__ = ["Surroundings"]


class Surroundings:
    """Indexes over everything that lives, kept up to date by the fleet: no question needs a scan of all objects."""

    def __init__(self) -> None:
        self._living: dict[str, tuple[str, str]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._namespaces: Counter[str] = Counter()
        self._stores: dict[str, StoreMemory] = {}

    def born(self, memory: TcpMemory) -> None:
        """A TenantControlPlane is there."""
        key = (memory.namespace, memory.name)
        if memory.uid not in self._living:
            self._living[memory.uid] = key
            self._namespaces[memory.namespace] += 1
        self._names[key] = memory.uid

    def gone(self, memory: TcpMemory) -> None:
        """A TenantControlPlane is gone from the API."""
        key = self._living.pop(memory.uid, None)
        if key is None:
            return
        self._namespaces[key[0]] -= 1
        if not self._namespaces[key[0]]:
            del self._namespaces[key[0]]
        if self._names.get(key) == memory.uid:
            del self._names[key]

    def lives(self, uid: str) -> bool:
        """Whether a TenantControlPlane of this uid is in the API."""
        return uid in self._living

    def namesake(self, memory: TcpMemory) -> str | None:
        """The uid of the living TenantControlPlane of this namespace and name."""
        return self._names.get((memory.namespace, memory.name))

    def inhabited(self, namespace: str) -> bool:
        """Whether a TenantControlPlane lives in the namespace."""
        return namespace in self._namespaces

    def keep(self, store: StoreMemory) -> None:
        """A DataStore is there."""
        self._stores[store.name] = store

    def drop(self, store: StoreMemory) -> None:
        """A DataStore is gone."""
        if self._stores.get(store.name) is store:
            del self._stores[store.name]

    def store(self, name: str) -> StoreMemory | None:
        """A DataStore by name."""
        return self._stores.get(name)

    def used(self, memory: TcpMemory) -> bool | None:
        """Whether a DataStore still lists the TenantControlPlane; None while a DataStore of its is not known."""
        subject = f"{memory.namespace}/{memory.name}"
        if any(subject in store.used_by for store in self._stores.values()):
            return True
        names = {memory.facts.store, memory.facts.wanted_store} - {""}
        return False if all(name in self._stores for name in names) else None
