"""The fixture itself: what the other tests stand on."""

from http import HTTPStatus

import aiohttp
import pytest

from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import Kube, KubeError, path_of


async def test_a_service_accounts_own_token_is_known_and_has_no_rights(cluster: Cluster, kube: Kube) -> None:
    """RBAC is on: a token signed with our key is a user, who may do nothing unasked."""
    uid = await kube.account("accounts", "nobody", [])
    token = cluster.credentials.token("accounts", "nobody", uid, seconds=60)
    async with aiohttp.ClientSession(cluster.url, connector=aiohttp.TCPConnector(ssl=cluster.trust)) as client:
        headers = {"Authorization": f"Bearer {token}"}
        async with client.get(path_of("tenantcontrolplanes"), headers=headers) as answer:
            text = await answer.text()

    assert answer.status == HTTPStatus.FORBIDDEN
    assert "system:serviceaccount:accounts:nobody" in text


async def test_compaction_forgets_old_versions(cluster: Cluster, kube: Kube) -> None:
    """Only compaction and a restart forget: until then the watch cache goes on serving old versions."""
    old = (await kube.call("GET", path_of("configmaps")))["metadata"]["resourceVersion"]
    exactly = {"resourceVersion": old, "resourceVersionMatch": "Exact"}
    await kube.namespace("tenants")
    cluster.compact()
    await kube.call("GET", path_of("configmaps"), query=exactly)
    cluster.server.kill()
    cluster.server.start()

    with pytest.raises(KubeError, match="410"):
        await kube.call("GET", path_of("configmaps"), query=exactly)
