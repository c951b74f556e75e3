"""What goes wrong with a real API server, and that nothing is lost by it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from publisher.observation import ChangeType
from publisher.watch.policy import WatchPolicy
from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import Kube, Object
from tests.apiserver.watching import Watching, eventually, watching
from tests.support.cut_proxy import Proxy

_POLICY = WatchPolicy(backoff_base=0.2, backoff_most=0.5, missing_most=0.2)


def _tcp(name: str) -> Object:
    return {
        "apiVersion": "kamaji.clastix.io/v1alpha1",
        "kind": "TenantControlPlane",
        "metadata": {"name": name, "namespace": "tenants"},
        "spec": {"kubernetes": {"version": "v1.34.1"}},
    }


async def _create(kube: Kube, *names: str) -> None:
    await kube.namespace("tenants")
    for name in names:
        await kube.create("tenantcontrolplanes", _tcp(name))


async def _delete(kube: Kube, name: str) -> None:
    await kube.delete("tenantcontrolplanes", "tenants", name)


@asynccontextmanager
async def _through_a_proxy(cluster: Cluster) -> AsyncIterator[tuple[Watching, Proxy]]:
    async with Proxy.to(cluster.url) as proxy, watching(cluster.kubeconfig(url=proxy.url), policy=_POLICY) as seen:
        await seen.synced()
        yield seen, proxy


async def _cut_off(seen: Watching, proxy: Proxy) -> None:
    """The network between is gone: what is open is reset, what is new gets no answer."""
    proxy.swallow()
    proxy.cut()
    await eventually(lambda: seen.reflector.problem, "a problem")


async def test_a_short_cut_is_resumed_without_a_list(cluster: Cluster, kube: Kube) -> None:
    """After a cut connection the watch goes on from the last version: every change comes once."""
    await _create(kube, "stays")
    async with _through_a_proxy(cluster) as (seen, proxy):
        proxy.cut()
        await _create(kube, "new")
        await seen.knows("stays", "new")

        assert len(seen.syncs) == 1
        assert len(seen.changes(ChangeType.ADDED)) == 1


async def test_a_version_that_was_compacted_meanwhile(cluster: Cluster, kube: Kube) -> None:
    """Cut off while etcd compacts and the API server restarts: 410, then a list that shows what happened."""
    await _create(kube, "stays", "goes", "again")
    async with _through_a_proxy(cluster) as (seen, proxy):
        former = seen.known["again"]["metadata"]["uid"]
        proxy.cut()
        proxy.swallow()
        await _delete(kube, "goes")
        await _delete(kube, "again")
        await _create(kube, "new", "again")
        await asyncio.to_thread(cluster.compact)
        await asyncio.to_thread(cluster.server.kill)
        await asyncio.to_thread(cluster.server.start)
        proxy.cut()
        proxy.flow()
        await seen.synced(2)

        assert set(seen.known) == {"stays", "new", "again"}
        assert seen.known["again"]["metadata"]["uid"] != former
        assert seen.reflector.stats.expired == 1
        assert seen.reflector.problem is None


async def test_an_api_server_that_is_killed_and_started_again(cluster: Cluster, kube: Kube) -> None:
    """While it is away there is a problem that says so; afterwards the watch goes on, without a second ADDED."""
    await _create(kube, "stays")
    async with watching(cluster.kubeconfig(), policy=_POLICY) as seen:
        await seen.synced()
        await asyncio.to_thread(cluster.server.kill)
        await eventually(lambda: "cannot be reached" in (seen.reflector.problem or ""), "a problem")
        await asyncio.to_thread(cluster.server.start)
        await eventually(lambda: seen.reflector.problem is None, "no problem")
        await _create(kube, "new")
        await seen.knows("stays", "new")

        added = [change.snapshot for change in seen.changes(ChangeType.ADDED)]
        assert [object_["metadata"]["name"] for object_ in added if object_] == ["new"]


async def test_a_remembered_version_that_is_newer_than_the_servers(cluster: Cluster, kube: Kube) -> None:
    """A process that starts with a version from before the restore lists, instead of waiting for ever."""
    await _create(kube, "stays")
    newer = str(cluster.revision() + 1_000_000)
    async with watching(cluster.kubeconfig(), start=newer, policy=_POLICY) as seen:
        await seen.synced()

        assert set(seen.known) == {"stays"}
        assert seen.reflector.stats.rewound == 1
