"""A real API server behaves as the simulator is said to: the suite that both must pass."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.apiserver.cluster import Cluster
from tests.behaviour.server import ApiServer
from tests.behaviour.suite import DiscoveryBehaviour, ListBehaviour, WatchBehaviour, WriteBehaviour


@pytest.mark.usefixtures("kube")
class TestReal(DiscoveryBehaviour, ListBehaviour, WatchBehaviour, WriteBehaviour):
    """Every case of the suite."""

    @pytest.fixture
    async def api(self, cluster: Cluster) -> AsyncIterator[ApiServer]:
        """The real one; to forget, etcd is compacted and the API server, whose watch cache remembers, restarted."""
        credentials = {"Authorization": "Bearer bad"}
        async with (
            httpx.AsyncClient(base_url=cluster.url, verify=cluster.tls(), timeout=20) as client,
            httpx.AsyncClient(base_url=cluster.url, verify=_trust(cluster), headers=credentials) as stranger,
        ):

            async def compact() -> None:
                await asyncio.to_thread(cluster.compact)
                await asyncio.to_thread(cluster.server.kill)
                await asyncio.to_thread(cluster.server.start)
                await _initialized(client)

            api = ApiServer(client, stranger, compact)
            await api.begin()
            yield api


def _trust(cluster: Cluster) -> ssl.SSLContext:
    """The server is known, who we are is not said."""
    return ssl.create_default_context(cafile=str(cluster.credentials.ca))


async def _initialized(client: httpx.AsyncClient) -> None:
    """A restarted server refuses watches of a kind until it has read it: 429, storage is (re)initializing."""
    query = {"watch": "1", "timeoutSeconds": "1", "resourceVersion": "0"}
    path = "/apis/kamaji.clastix.io/v1alpha1/tenantcontrolplanes"
    while (await client.get(path, params=query)).status_code == httpx.codes.TOO_MANY_REQUESTS:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
