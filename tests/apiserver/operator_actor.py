"""An actor that plays the operator: it writes recorded states to a real API server, one write after the other.

What the server decides by itself (uids, versions, generations, times, managed fields) is its own; everything else is as
recorded. A recorded change becomes the write that made it: the object, its status, or its deletion.
"""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from tests.apiserver.kube import Kube, Object

__all__ = ["BODIES", "OperatorActor", "Step", "recorded"]

Step = dict[str, Any]
"""One line of a recording."""
_WHOLE = frozenset({"tenantcontrolplanes", "datastores"})
"""Kinds that are recorded whole; of the others only metadata is."""
_SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
            "deletionTimestamp", "deletionGracePeriodSeconds")  # fmt: skip
"""Metadata that a server decides."""
BODIES: dict[str, Object] = {
    "deployments": {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": {
        "metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "x", "image": "x"}]}}}},
    "services": {"spec": {"ports": [{"port": 6443}]}},
    "secrets": {"data": {"tls.key": "c2VjcmV0IG9mIHRoZSB0ZXN0cw=="}},
    "ingresses": {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 6443}}}}},
    "configmaps": {"data": {"kubeadm": "config"}},
    "jobs": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}}}},
}  # fmt: skip
"""What owned objects must have besides metadata."""


def recorded(path: Path, *resources: str) -> list[Step]:
    """The lines of a recording but its header, of some resources or of all; objects of LISTs become ADDED lines."""
    with gzip.open(path) as file:
        lines = [orjson.loads(line) for line in file]
    return [step for line in lines if not resources or line["resource"] in resources for step in _steps(line)]


def _steps(line: Step) -> Iterable[Step]:
    if line["type"] == "LIST":
        yield from ({**line, "type": "ADDED", "object": item} for item in line["object"]["items"] or ())
    elif line["type"] in {"ADDED", "MODIFIED", "DELETED"}:
        yield line


def _key(step: Step) -> tuple[str, str, str]:
    metadata = step["object"]["metadata"]
    return step["resource"], metadata.get("namespace", ""), metadata["name"]


class OperatorActor:
    """Plays lines in order.

    Args:
        kube: the administrator's client.
    """

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._before: dict[tuple[str, str, str], Object] = {}
        self._uids: dict[str, str] = {}
        self._current: dict[tuple[str, str, str], str] = {}
        self.versions: dict[str, str] = {}
        """The resourceVersion that each recorded one became."""

    @property
    def version(self) -> int:
        """The resourceVersion of the last write, but for deletions."""
        return max(map(int, self.versions.values()), default=0)

    async def play(self, steps: Iterable[Step]) -> None:
        """Write what each line says."""
        for step in steps:
            if namespace := step["object"]["metadata"].get("namespace"):
                await self._kube.namespace(namespace)
            await self._play(step)

    async def _play(self, step: Step) -> None:
        key, object_ = _key(step), step["object"]
        before = self._before.get(key)
        if step["type"] == "DELETED":
            await self._delete(key, before)
        elif before is None:
            await self._add(key, object_)
        elif "deletionTimestamp" in object_["metadata"] and "deletionTimestamp" not in before["metadata"]:
            self._told(key, object_, await self._kube.delete(*_place(key)))
        elif key[0] not in _WHOLE:
            await self._touch(key, object_)
        else:
            await self._modify(key, before, object_)
        if step["type"] != "DELETED":
            self._before[key] = object_

    async def _add(self, key: tuple[str, str, str], object_: Object) -> None:
        made = await self._kube.create(key[0], self._body(key[0], object_), manager=_manager(object_))
        self._uids[object_["metadata"]["uid"]] = made["metadata"]["uid"]
        self._told(key, object_, made)
        if "status" in object_ and key[0] in _WHOLE:
            await self._write(key, object_, status=True)

    async def _modify(self, key: tuple[str, str, str], before: Object, object_: Object) -> None:
        if _without_status(before) != _without_status(object_):
            await self._write(key, object_)
        if before.get("status") != object_.get("status"):
            await self._write(key, object_, status=True)

    async def _write(self, key: tuple[str, str, str], object_: Object, *, status: bool = False) -> None:
        body = self._body(key[0], object_)
        body["metadata"]["resourceVersion"] = self._current[key]
        written = await self._kube.replace(
            key[0], body, status=status, manager="kamaji" if status else _manager(object_)
        )
        self._told(key, object_, written)

    async def _touch(self, key: tuple[str, str, str], object_: Object) -> None:
        """Of an owned object only labels, annotations and finalizers are known."""
        names = ("labels", "annotations", "finalizers")
        metadata = {name: object_["metadata"].get(name) for name in names}
        await self._kube.patch(*_place(key), {"metadata": metadata})

    async def _delete(self, key: tuple[str, str, str], before: Object | None) -> None:
        if before is None:
            return
        del self._before[key]
        if "deletionTimestamp" not in before["metadata"]:
            await self._kube.delete(*_place(key))
        if before["metadata"].get("finalizers"):
            await self._kube.patch(*_place(key), {"metadata": {"finalizers": None}})

    def _body(self, resource: str, object_: Object) -> Object:
        kept = {name: value for name, value in object_["metadata"].items() if name not in _SERVERS}
        body = {name: value for name, value in object_.items() if name not in {"apiVersion", "kind"}}
        body |= {"metadata": kept} | BODIES.get(resource, {})
        if resource in _WHOLE:
            body |= {"apiVersion": object_["apiVersion"], "kind": object_["kind"]}
        copied: Object = orjson.loads(orjson.dumps(body))
        metadata = copied["metadata"]
        for owner in metadata.get("ownerReferences", ()):
            owner["uid"] = self._uids[owner["uid"]]
        return copied

    def _told(self, key: tuple[str, str, str], object_: Object, answer: Object) -> None:
        ours, theirs = object_["metadata"], answer["metadata"]
        self._current[key] = theirs["resourceVersion"]
        self.versions[ours["resourceVersion"]] = theirs["resourceVersion"]

    def uid(self, recorded_uid: str) -> str:
        """The uid that a recorded one became."""
        return self._uids[recorded_uid]


def _place(key: tuple[str, str, str]) -> tuple[str, str | None, str]:
    return key[0], key[1] or None, key[2]


def _without_status(object_: Object) -> Object:
    metadata = {name: value for name, value in object_["metadata"].items() if name not in _SERVERS}
    return {"metadata": metadata, "spec": object_.get("spec")}


def _manager(object_: Object) -> str:
    """Who wrote the object last, as managedFields say."""
    entries = object_["metadata"].get("managedFields") or [{}]
    newest = max(entries, key=lambda entry: str(entry.get("time", "")))
    return str(newest.get("manager", "kamaji"))
