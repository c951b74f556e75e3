"""The writing half of an API server over its storage.

Writes follow the real server's rules: a changed spec counts ``metadata.generation``, a changed status does not; a
write that changes nothing makes no version; an object with finalizers is only marked by a deletion, and goes when the
last one is removed.
"""

import time
from collections.abc import Callable
from typing import Any

from kamaji_events.simulator.history import ChangeKind, Past
from kamaji_events.simulator.kinds import Kind, kind_of
from kamaji_events.simulator.managed import manage
from kamaji_events.simulator.refusal import already_exists, conflict, invalid, not_found, terminating
from kamaji_events.simulator.storage import Storage
from kamaji_events.simulator.version import Object, Version

__all__ = ["Store"]

_WINDOW = 20_000
_SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease", "kamaji-system")


class Store(Storage):
    """The objects of one simulated cluster.

    Args:
        seed: makes uids and generated names.
        window: changes of each kind that are kept; older ones are answered with 410.
        version: the first resourceVersion.
        clock: seconds since 1970, for timestamps.
        managed_fields: keep ``metadata.managedFields``, as a real server does.
        on_change: told of each change once it is in force; must not write.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        window: int = _WINDOW,
        version: int = 1,
        clock: Callable[[], float] = time.time,
        managed_fields: bool = True,
        on_change: Callable[[Past], None] | None = None,
    ) -> None:
        super().__init__(seed, window, version, clock, on_change)
        self._managed_fields = managed_fields
        for name in _SYSTEM:
            self.ensure_namespace(name)

    def create(self, resource: str, content: Object, *, manager: str = "simulator") -> Object:
        """Create an object; the server's own fields in it are ignored, a status too where it is a subresource.

        Raises:
            Refusal: the name is taken, or the namespace is going.
        """
        kind, metadata = kind_of(resource), content["metadata"]
        if kind.namespaced:
            self._admit(kind, metadata["namespace"], metadata["name"])
        return self._create(kind, {key: content[key] for key in content if key != "status" or not kind.status}, manager)

    def update(self, resource: str, content: Object, *, manager: str = "simulator") -> Object:
        """Write an object but its status; removing the last finalizer of one that is being deleted ends it.

        Raises:
            Refusal: it does not exist, or ``metadata.resourceVersion`` is given and not the present one.
        """
        kind, before = self._existing(resource, content)
        old = before.content()
        new = _protected(content, old, kind)
        if kind.status:
            _keep(new, old, "status")
        if kind.generations and _spec(new) != _spec(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if "deletionTimestamp" in old["metadata"]:
            _check_finalizers(kind, old["metadata"], new["metadata"])
            if not new["metadata"].get("finalizers") and old["metadata"].get("finalizers"):
                self.remove(before)
                return new
        return self._write(kind, before, new, manager, status=False)

    def update_status(self, resource: str, content: Object, *, manager: str = "kamaji") -> Object:
        """Write the status of an object and nothing else.

        Raises:
            Refusal: as for ``update``.
        """
        kind, before = self._existing(resource, content)
        new = before.content()
        new.pop("status", None)
        if "status" in content:
            new["status"] = content["status"]
        return self._write(kind, before, new, manager, status=True)

    def delete(self, resource: str, namespace: str | None, name: str) -> Object | None:
        """Delete an object: mark it when it has finalizers, and give it back; else remove it and give None.

        Raises:
            Refusal: it does not exist.
        """
        kind = kind_of(resource)
        before = self.version_of(resource, namespace, name)
        if before is None:
            raise not_found(kind, name)
        content = before.content()
        if not _has_finalizers(content):
            self.remove(before)
            return None
        metadata = content["metadata"]
        if "deletionTimestamp" in metadata:
            return content
        metadata["deletionTimestamp"] = self._now()
        if resource == "namespaces":
            content["status"] = {"phase": "Terminating"}
        else:
            metadata["deletionGracePeriodSeconds"] = 0
        if kind.generations:
            metadata["generation"] = metadata.get("generation", 0) + 1
        return self._commit(kind, "MODIFIED", content, before).content()

    def ensure_namespace(self, name: str) -> None:
        """Create a namespace unless it is there."""
        if self.version_of("namespaces", None, name) is None:
            self.create_namespace({"metadata": {"name": name}}, manager="kube-apiserver")

    def create_namespace(self, content: Object, *, manager: str = "simulator") -> None:
        """Create a namespace with what a real server adds.

        Raises:
            Refusal: it is there.
        """
        metadata = dict(content["metadata"])
        metadata["labels"] = {"kubernetes.io/metadata.name": metadata["name"], **metadata.get("labels", {})}
        body = {**content, "metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        self._create(kind_of("namespaces"), body, manager)

    def finalize_namespace(self, name: str) -> None:
        """Remove a namespace whatever is in it, as its controller does when nothing is.

        Raises:
            Refusal: it does not exist.
        """
        before = self.version_of("namespaces", None, name)
        if before is None:
            raise not_found(kind_of("namespaces"), name)
        self.remove(before)

    def _create(self, kind: Kind, content: Object, manager: str) -> Object:
        metadata = dict(content["metadata"])
        if self.version_of(kind.plural, metadata.get("namespace"), metadata["name"]):
            raise already_exists(kind, metadata["name"])
        metadata.pop("deletionTimestamp", None)
        metadata |= {"uid": self._uid(), "creationTimestamp": self._now()}
        if kind.generations:
            metadata["generation"] = 1
        made = content | {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        return self._write(kind, None, made, manager, status=False)

    def _existing(self, resource: str, content: Object) -> tuple[Kind, Version]:
        kind, metadata = kind_of(resource), content["metadata"]
        before = self.version_of(resource, metadata.get("namespace"), metadata["name"])
        if before is None:
            raise not_found(kind, metadata["name"])
        asked = metadata.get("resourceVersion")
        if (asked and asked != before.meta.resource_version) or metadata.get("uid", before.meta.uid) != before.meta.uid:
            raise conflict(kind, metadata["name"])
        return kind, before

    def _admit(self, kind: Kind, namespace: str, name: str) -> None:
        found = self.version_of("namespaces", None, namespace)
        if found is None:
            self.ensure_namespace(namespace)
        elif found.meta.deletion_timestamp:
            raise terminating(kind, namespace, name)

    def _write(self, kind: Kind, before: Version | None, content: Object, manager: str, *, status: bool) -> Object:
        old = before.content() if before else None
        if old is not None and content == old:
            return content
        if self._managed_fields:
            manage(content, old, manager, self._now(), kind=kind, status=status)
        return self._commit(kind, "MODIFIED" if before else "ADDED", content, before).content()

    def _commit(self, kind: Kind, change: ChangeKind, content: Object, before: Version | None) -> Version:
        self.version += 1
        content["metadata"]["resourceVersion"] = str(self.version)
        version = Version.from_object(kind, _ordered(content, kind))
        self._apply(change, version, before)
        return version

    def remove(self, before: Version) -> None:
        """Remove an object whatever its finalizers say."""
        self.version += 1
        self._apply("DELETED", before.at(self.version), before)

    def generated(self, prefix: str) -> str:
        """A name for ``generateName``."""
        return prefix + "".join(self._rng.choices("bcdfghjklmnpqrstvwxz2456789", k=5))


_SERVERS = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
            "resourceVersion", "managedFields")  # fmt: skip


def _check_finalizers(kind: Kind, old: dict[str, Any], new: dict[str, Any]) -> None:
    added = [name for name in new.get("finalizers") or () if name not in old.get("finalizers", ())]
    if added:
        shown = ", ".join(f'"{name}"' for name in added)
        sentence = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{shown}}}"
        )
        what = f"{kind.name}.{kind.group}" if kind.group else kind.name
        raise invalid(
            what, kind.group, kind.name, "metadata.finalizers", sentence,
            reason="FieldValueForbidden", name=old["name"],
        )  # fmt: skip


def _protected(content: Object, old: Object, kind: Kind) -> Object:
    """What was written, with the server's own fields as they were."""
    new = {**content, "apiVersion": kind.api_version, "kind": kind.name, "metadata": dict(content["metadata"])}
    for name in _SERVERS:
        _keep(new["metadata"], old["metadata"], name)
    return new


def _keep(new: dict[str, Any], old: dict[str, Any], name: str) -> None:
    new.pop(name, None)
    if name in old:
        new[name] = old[name]


def _spec(content: Object) -> Object:
    return {key: value for key, value in content.items() if key not in {"metadata", "status", "apiVersion", "kind"}}


def _has_finalizers(content: Object) -> bool:
    spec = content.get("spec")
    of_namespace = content["kind"] == "Namespace" and isinstance(spec, dict) and spec.get("finalizers")
    return bool(content["metadata"].get("finalizers") or of_namespace)


def _ordered(content: Object, kind: Kind) -> Object:
    """Fields in the order in which a real server gives them: alphabetically for custom resources."""
    if kind.custom:
        return {
            key: dict(sorted(content[key].items())) if key == "metadata" else content[key] for key in sorted(content)
        }
    first = ("kind", "apiVersion", "metadata")
    return {key: content[key] for key in (*first, *(key for key in content if key not in first))}
