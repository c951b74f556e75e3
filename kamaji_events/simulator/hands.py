"""The operator's hands on one control plane: every write that it makes, one at a time."""

import random
from collections.abc import Callable, Generator
from typing import Any

from kamaji_events.simulator.body import owned
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.version import Object

__all__ = ["TCPS", "Gone", "Hands", "Steps"]

Steps = Generator[float, None, None]
"""Seconds before the next write, again and again."""
TCPS = "tenantcontrolplanes"


class Gone(Exception):  # noqa: N818 - says what is the matter
    """The control plane is not there (any more)."""


class Hands:
    """Reads and writes one control plane and what it owns.

    Args:
        store: where it lives.
        rng: durations, checksums.
        namespace: its namespace.
        name: its name.
    """

    def __init__(self, store: Store, rng: random.Random, namespace: str, name: str) -> None:
        self._store = store
        self._rng = rng
        self.namespace = namespace
        self.name = name

    @property
    def subject(self) -> str:
        """As events name it."""
        return f"{self.namespace}/{self.name}"

    @property
    def exists(self) -> bool:
        """Whether there is such an object."""
        return self._store.version_of(TCPS, self.namespace, self.name) is not None

    @property
    def content(self) -> Object:
        """The object; it must exist."""
        found = self._store.get(TCPS, self.namespace, self.name)
        if found is None:
            raise Gone(self.subject)
        return found

    def _make(
        self,
        resource: str,
        component: str,
        path: tuple[str, ...],
        *,
        name: str = "secretName",
        finalizers: tuple[str, ...] = (),
    ) -> Steps:
        made = owned(self.content, component, suffix=f"-{component}", finalizers=finalizers)
        checksum = self._hash()
        made["metadata"]["annotations"] = {"kamaji.clastix.io/checksum": checksum}
        self._store.create(resource, made, manager="kamaji")
        yield self._soon()
        block = {"checksum": checksum, name: made["metadata"]["name"]}
        self._status(lambda status: _inside(status, path).update(block))
        yield self._soon()

    def _checksum(self, resource: str, component: str, path: tuple[str, ...], *, word: str = "") -> Steps:
        """What is behind a checksum is written again."""
        found = self._store.get(resource, self.namespace, f"{self.name}-{component}")
        checksum = self._hash()
        if found is not None:
            found["metadata"].setdefault("annotations", {})["kamaji.clastix.io/checksum"] = checksum
            self._store.update(resource, found, manager="kamaji")
            yield self._soon()

        def change(status: Object) -> None:
            _inside(status, path)["checksum"] = checksum
            if word:
                status["kubernetesResources"]["version"]["status"] = word

        self._status(change)
        yield self._soon()

    def _status(self, change: Callable[[Object], Any]) -> None:
        content = self.content
        change(content.setdefault("status", {}))
        self._store.update_status(TCPS, content)

    def _word(self, word: str, *, version: str | None = None) -> None:
        def change(status: Object) -> None:
            block = status["kubernetesResources"]["version"]
            block["status"] = word
            if version:
                block["version"] = version

        self._status(change)

    def _replicas(self, **numbers: int | None) -> None:
        def change(status: Object) -> None:
            pods = status["kubernetesResources"]["deployment"]
            for field, number in numbers.items():
                pods.pop(field, None)
                if number is not None:
                    pods[field] = number

        self._status(change)

    def _observe(self) -> None:
        generation = self.content["metadata"]["generation"]
        self._status(lambda status: status.update(observedGeneration=generation))

    def _finalizers(self, change: Callable[[list[str]], list[str]]) -> None:
        content = self.content
        content["metadata"]["finalizers"] = change(content["metadata"].get("finalizers", []))
        self._store.update(TCPS, content, manager="kamaji")

    def _pods(self) -> Object:
        pods: Object = self.content["status"]["kubernetesResources"].get("deployment", {})
        return pods

    def _wanted(self) -> int:
        wanted: int = self.content["spec"]["controlPlane"]["deployment"]["replicas"]
        return wanted

    def _target(self) -> str:
        version: str = self.content["spec"]["kubernetes"]["version"]
        return version

    def _running(self) -> str | None:
        version: str | None = self.content["status"]["kubernetesResources"]["version"].get("version")
        return version

    def _upgrading(self) -> bool:
        return self._running() not in {None, self._target()}

    def _limited(self) -> bool:
        return any(self.content["spec"].get("writePermissions", {}).values())

    def _hash(self) -> str:
        return f"{self._rng.getrandbits(128):032x}"

    def _soon(self) -> float:
        return self._between(0.01, 0.3)

    def _between(self, least: float, most: float) -> float:
        return self._rng.uniform(least, most)


def _inside(status: Object, path: tuple[str, ...]) -> Object:
    block = status
    for word in path:
        block = block.setdefault(word, {})
    return block
