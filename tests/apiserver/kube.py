"""The administrator's hands in a test: plain calls to the Kubernetes API, with what Kamaji's cluster needs first."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson

from tests.apiserver.cluster import Cluster

__all__ = ["KAMAJI", "Kube", "KubeError", "crd", "path_of"]

KAMAJI = "kamaji.clastix.io"
"""The group of Kamaji's kinds."""
_CORE = frozenset({"services", "secrets", "configmaps", "serviceaccounts", "namespaces"})
_GROUPS = {
    "tenantcontrolplanes": f"apis/{KAMAJI}/v1alpha1",
    "datastores": f"apis/{KAMAJI}/v1alpha1",
    "deployments": "apis/apps/v1",
    "jobs": "apis/batch/v1",
    "ingresses": "apis/networking.k8s.io/v1",
    "clusterroles": "apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "apis/rbac.authorization.k8s.io/v1",
    "customresourcedefinitions": "apis/apiextensions.k8s.io/v1",
}
_OWNED = ("tenantcontrolplanes", "deployments", "jobs", "services", "secrets", "configmaps", "ingresses")
"""Kinds that a namespace with a TCP in it may hold."""
_STEP = 0.05

Object = dict[str, Any]


def path_of(resource: str, namespace: str | None = None, name: str | None = None) -> str:
    """The path of a kind, or of one object, by its plural."""
    group = "api/v1" if resource in _CORE else _GROUPS[resource]
    parts = [group, *(("namespaces", namespace) if namespace else ()), resource, *((name,) if name else ())]
    return "/" + "/".join(parts)


def crd(plural: str, kind: str, *, namespaced: bool, versions: tuple[str, ...] = ("v1alpha1",)) -> Object:
    """A definition of one of Kamaji's kinds that keeps whatever is written; the last version is the stored one."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{KAMAJI}"},
        "spec": {
            "group": KAMAJI,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[-1],
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
                for version in versions
            ],
        },
    }


def _is_ours(item: Object) -> bool:
    """Not the cluster's own Services and ConfigMaps."""
    metadata = item["metadata"]
    return "ownerReferences" in metadata or any("kamaji" in label for label in metadata.get("labels") or ())


class KubeError(Exception):
    """The server refused; with its words."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Kube:
    """An administrator's client, ``async with Kube(cluster) as kube``."""

    def __init__(self, cluster: Cluster) -> None:
        connector = aiohttp.TCPConnector(limit=16, ssl=cluster.tls())
        self._namespaces: set[str] = set()
        self._client = aiohttp.ClientSession(cluster.url, connector=connector)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> Object:
        """One call, again while the server asks for patience.

        Raises:
            KubeError: any other error.
        """
        headers = {"Content-Type": kind}
        data = orjson.dumps(body) if body is not None else None
        while True:
            async with self._client.request(method, path, data=data, params=query, headers=headers) as answer:
                content = await answer.read()
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
                break
            await asyncio.sleep(_STEP)
        if not answer.ok:
            raise KubeError(answer.status, f"{answer.status} to {method} {path}: {content.decode()}")
        decoded: Object = orjson.loads(content)
        return decoded

    async def create(self, resource: str, body: Object, *, manager: str = "tests") -> Object:
        """Create an object, in the namespace that it names."""
        path = path_of(resource, body["metadata"].get("namespace"))
        return await self.call("POST", path, body, query={"fieldManager": manager})

    async def replace(self, resource: str, body: Object, *, status: bool = False, manager: str = "tests") -> Object:
        """Write an object, or its status only."""
        path = path_of(resource, body["metadata"].get("namespace"), body["metadata"]["name"])
        return await self.call("PUT", path + ("/status" if status else ""), body, query={"fieldManager": manager})

    async def patch(
        self, resource: str, namespace: str | None, name: str, body: Object, *, status: bool = False
    ) -> Object:
        """Merge a patch into an object, or into its status."""
        path = path_of(resource, namespace, name) + ("/status" if status else "")
        return await self.call("PATCH", path, body, kind="application/merge-patch+json")

    async def get(self, resource: str, namespace: str | None, name: str) -> Object:
        """Read an object."""
        return await self.call("GET", path_of(resource, namespace, name))

    async def delete(self, resource: str, namespace: str | None, name: str) -> Object:
        """Ask for an object's deletion; what depends on it is left to others."""
        return await self.call("DELETE", path_of(resource, namespace, name), query={"propagationPolicy": "Background"})

    async def items(self, resource: str, namespace: str | None = None) -> list[Object]:
        """List a kind."""
        listed = await self.call("GET", path_of(resource, namespace))
        return list(listed["items"] or [])

    async def namespace(self, name: str) -> None:
        """Create a namespace, unless it is there; one that was created is not asked for again."""
        if name not in self._namespaces:
            self._namespaces.add(name)
            await self.ensure("namespaces", {"metadata": {"name": name}})

    async def ensure(self, resource: str, body: Object) -> None:
        """Create an object, unless it is there."""
        try:
            await self.create(resource, body)
        except KubeError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise

    async def install_kamaji(self, *, versions: tuple[str, ...] = ("v1alpha1",)) -> None:
        """Install Kamaji's definitions, and wait until they are served."""
        await self.ensure(
            "customresourcedefinitions", crd("datastores", "DataStore", namespaced=False, versions=versions)
        )
        tcp = crd("tenantcontrolplanes", "TenantControlPlane", namespaced=True, versions=versions)
        await self.ensure("customresourcedefinitions", tcp)
        for resource in ("datastores", "tenantcontrolplanes"):
            await self._until(path_of(resource), serves=True)

    async def remove_kamaji(self) -> None:
        """Remove the definitions with every object, and wait until they are gone."""
        for resource in ("tenantcontrolplanes", "datastores"):
            await self.delete("customresourcedefinitions", None, f"{resource}.{KAMAJI}")
        for resource in ("tenantcontrolplanes", "datastores"):
            await self._until(path_of("customresourcedefinitions", None, f"{resource}.{KAMAJI}"), serves=False)

    async def _serves(self, path: str) -> bool:
        async with self._client.get(path, params={"limit": "1"}) as answer:
            return answer.ok

    async def _until(self, path: str, *, serves: bool) -> None:
        """Ask until it is so: the server tells nobody when a definition has come into force."""
        while await self._serves(path) is not serves:  # noqa: ASYNC110 - another process's state
            await asyncio.sleep(_STEP)

    async def account(self, namespace: str, name: str, rules: list[Object]) -> str:
        """A service account with a role of its own; returns its uid."""
        await self.namespace(namespace)
        made = await self.create("serviceaccounts", {"metadata": {"name": name, "namespace": namespace}})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        await self.allow(f"{namespace}-{name}", subject, rules)
        uid: str = made["metadata"]["uid"]
        return uid

    async def allow(self, role: str, subject: Object, rules: list[Object]) -> None:
        """Bind a cluster role of these rules to a subject."""
        await self.create("clusterroles", {"metadata": {"name": role}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
        await self.create(
            "clusterrolebindings", {"metadata": {"name": role}, "roleRef": reference, "subjects": [subject]}
        )

    async def end_namespace(self, name: str) -> None:
        """Delete a namespace and ask for the deletion of all in it, as the namespace controller does."""
        self._namespaces.discard(name)
        await self.delete("namespaces", None, name)
        for resource in _OWNED:
            await self.call("DELETE", path_of(resource, name))

    async def finalize_namespace(self, name: str) -> None:
        """Let an emptied namespace go."""
        body = await self.get("namespaces", None, name)
        body["spec"]["finalizers"] = []
        await self.call("PUT", path_of("namespaces", None, name) + "/finalize", body)

    async def collect_garbage(self, namespace: str, uid: str) -> None:
        """Delete what an owner left behind, as the garbage collector does."""
        for resource in _OWNED:
            for item in await self.items(resource, namespace):
                if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", ())):
                    await self.delete(resource, namespace, item["metadata"]["name"])

    async def clean(self) -> None:
        """Remove every object of Kamaji's kinds, whatever finalizers hold it, and what they may own."""
        for resource in ("tenantcontrolplanes", "datastores"):
            if await self._serves(path_of(resource)):
                await self._erase(resource, await self.items(resource))
        for resource in _OWNED[1:]:
            await self._erase(resource, [item for item in await self.items(resource) if _is_ours(item)])

    async def _erase(self, resource: str, items: list[Object]) -> None:
        held = [item for item in items if item["metadata"].get("finalizers")]
        await asyncio.gather(*(self._release(resource, item["metadata"]) for item in held))
        for namespace in {item["metadata"].get("namespace") for item in items}:
            await self.call("DELETE", path_of(resource, namespace))

    async def _release(self, resource: str, metadata: Object) -> None:
        place = resource, metadata.get("namespace"), metadata["name"]
        await self.patch(*place, {"metadata": {"finalizers": None}})
