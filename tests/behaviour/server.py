"""What the behaviour suite needs of an API server, whichever it is."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import orjson

__all__ = ["PARTIAL", "PARTIAL_LIST", "ApiServer", "Object"]

Object = dict[str, Any]
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIAL_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_GROUP = "/apis/kamaji.clastix.io/v1alpha1"
_MERGE = {"Content-Type": "application/merge-patch+json"}


@dataclass
class ApiServer:
    """A server with Kamaji's definitions and one empty namespace."""

    client: httpx.AsyncClient
    """May do everything."""
    stranger: httpx.AsyncClient
    """Has a token that is none."""
    compact: Callable[[], Awaitable[None]]
    """Makes the server forget everything but the present."""
    namespace: str = ""

    def __post_init__(self) -> None:
        self.namespace = f"behaviour-{uuid4().hex[:10]}"

    async def begin(self) -> None:
        """Create the namespace."""
        (await self.client.post("/api/v1/namespaces", json={"metadata": {"name": self.namespace}})).raise_for_status()

    @property
    def everywhere(self) -> str:
        """Path of all control planes."""
        return f"{_GROUP}/tenantcontrolplanes"

    @property
    def path(self) -> str:
        """Path of the control planes in the namespace."""
        return f"{_GROUP}/namespaces/{self.namespace}/tenantcontrolplanes"

    @property
    def configmaps(self) -> str:
        """Path of the ConfigMaps in the namespace."""
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    def tcp(self, name: str, **spec: Any) -> Object:
        """A control plane."""
        return {
            "apiVersion": "kamaji.clastix.io/v1alpha1",
            "kind": "TenantControlPlane",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"tier": name}},
            "spec": spec or {"wanted": 1},
        }

    async def create(self, *names: str) -> list[Object]:
        """Create control planes."""
        return [await self._ok(self.client.post(self.path, json=self.tcp(name))) for name in names]

    async def touch(self, name: str, wanted: int) -> Object:
        """Change a control plane's spec."""
        return await self.patch(name, {"spec": {"wanted": wanted}})

    async def patch(self, name: str, patch: Object, *, part: str = "") -> Object:
        """Merge a patch into a control plane."""
        return await self._ok(self.client.patch(f"{self.path}/{name}{part}", json=patch, headers=_MERGE))

    async def delete(self, name: str) -> Object:
        """Delete a control plane."""
        return await self._ok(self.client.delete(f"{self.path}/{name}"))

    async def get(
        self, path: str | None = None, *, headers: dict[str, str] | None = None, **query: str | int
    ) -> Object:
        """Read what must be there; the control planes of the namespace by default."""
        return await self._ok(self.client.get(path or self.path, params=query, headers=headers))

    async def refused(self, path: str | None = None, **query: str | int) -> httpx.Response:
        """Read what must be refused."""
        answer = await self.client.get(path or self.path, params=query)
        assert answer.is_error, answer.text
        return answer

    async def version(self) -> str:
        """The resourceVersion that the server is at."""
        found: str = (await self.get(limit=1))["metadata"]["resourceVersion"]
        return found

    async def watch(
        self, path: str | None = None, *, headers: dict[str, str] | None = None, **query: str | int
    ) -> AsyncGenerator[Object, None]:
        """The lines of a watch until the server ends it: after a second unless told otherwise."""
        asked = {"watch": "1", "timeoutSeconds": 1, **query}
        async with self.client.stream("GET", path or self.path, params=asked, headers=headers) as answer:
            assert answer.status_code == httpx.codes.OK, await answer.aread()
            assert answer.headers["Content-Type"] == "application/json"
            async for line in answer.aiter_lines():
                yield orjson.loads(line)

    async def told(self, path: str | None = None, **query: Any) -> list[Object]:
        """All lines of such a watch."""
        return [line async for line in self.watch(path, **query)]

    @staticmethod
    async def _ok(asked: Awaitable[httpx.Response]) -> Object:
        answer = await asked
        assert answer.is_success, answer.text
        content: Object = answer.json()
        return content
