"""Listing and watching, as a real API server does it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

import pytest

from publisher.observation import ChangeType, Resource, SyncItem
from publisher.watch.policy import WatchPolicy
from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import Kube, Object
from tests.apiserver.watching import Watching, eventually, watching

_POLICY = WatchPolicy(backoff_base=0.2, backoff_most=0.5, missing_most=0.2)
_MANY = 1_200
_PAGE = 500


def _tcp(name: str, **spec: object) -> Object:
    return {
        "apiVersion": "kamaji.clastix.io/v1alpha1",
        "kind": "TenantControlPlane",
        "metadata": {"name": name, "namespace": "tenants"},
        "spec": {"kubernetes": {"version": "v1.34.1"}, **spec},
    }


async def _create(kube: Kube, count: int) -> set[str]:
    await kube.namespace("tenants")
    names = {f"tcp-{number:04}" for number in range(count)}
    await asyncio.gather(*(kube.create("tenantcontrolplanes", _tcp(name)) for name in names))
    return names


def _more(seen: Watching, watches: int) -> bool:
    return seen.reflector.stats.watches > watches


async def test_a_list_comes_in_pages(cluster: Cluster, kube: Kube) -> None:
    """1,200 objects are listed in three answers, each object once, and the watch goes on behind them."""
    names = await _create(kube, _MANY)
    async with watching(cluster.kubeconfig(), policy=replace(_POLICY, streaming=False, page=_PAGE)) as seen:
        await seen.synced()
        listed = [said.snapshot["metadata"]["name"] for said in seen.said if isinstance(said, SyncItem)]
        await kube.create("tenantcontrolplanes", _tcp("one-more"))
        await seen.knows(*names, "one-more")

        assert sorted(listed) == sorted(names)
        assert seen.reflector.stats.streamed == 0
        assert len(seen.syncs) == 1


async def test_a_streaming_list_is_used_where_the_server_has_one(cluster: Cluster, kube: Kube) -> None:
    """The first list comes through the watch itself, complete, and changes follow in the same stream."""
    names = await _create(kube, 20)
    async with watching(cluster.kubeconfig()) as seen:
        await seen.synced()
        assert set(seen.known) == names
        await kube.create("tenantcontrolplanes", _tcp("one-more"))
        await seen.knows(*names, "one-more")

        assert seen.reflector.stats.streamed == 1
        assert seen.reflector.stats.watches == 1


async def test_a_watch_ends_when_its_time_is_over_and_goes_on(cluster: Cluster, kube: Kube) -> None:
    """TimeoutSeconds is obeyed: the server ends the watch, the next one goes on, nothing is listed or lost."""
    await kube.namespace("tenants")
    async with watching(cluster.kubeconfig(), policy=replace(_POLICY, watch_seconds=2, grace=30)) as seen:
        await seen.synced()
        watches = seen.reflector.stats.watches
        for number in range(3):
            await eventually(partial(_more, seen, watches + number))
            await kube.create("tenantcontrolplanes", _tcp(f"tcp-{number}"))
        await seen.knows("tcp-0", "tcp-1", "tcp-2")

        assert len(seen.syncs) == 1
        assert [change.type for change in seen.changes(ChangeType.ADDED)] == [ChangeType.ADDED] * 3


async def test_bookmarks_move_the_version_of_a_quiet_kind(cluster: Cluster, kube: Kube) -> None:
    """While only other kinds change, bookmarks carry the version forward, so that a resume is not too old."""
    await kube.namespace("tenants")
    async with watching(cluster.kubeconfig(), Resource.DATASTORES, policy=replace(_POLICY, watch_seconds=6)) as seen:
        await seen.synced()
        listed = int(seen.syncs[0].resource_version)
        await _create(kube, 5)
        await eventually(lambda: seen.changes(ChangeType.BOOKMARK), "a bookmark")
        await eventually(lambda: int(seen.reflector.version or 0) >= listed + 5, "a later version")

        assert seen.known == {}
        assert len(seen.syncs) == 1


async def test_an_object_of_a_megabyte_is_one_line(cluster: Cluster, kube: Kube) -> None:
    """Objects near etcd's limit pass through the watch and through the list."""
    await kube.namespace("tenants")
    padding = "x" * 1_000_000
    async with watching(cluster.kubeconfig()) as seen:
        await seen.synced()
        await kube.create("tenantcontrolplanes", _tcp("large", note=padding))
        await seen.knows("large")
        assert seen.changes(ChangeType.ADDED)[0].size > len(padding)
    async with watching(cluster.kubeconfig(), policy=replace(_POLICY, streaming=False)) as listed:
        await listed.knows("large")

        assert listed.known["large"]["spec"]["note"] == padding


async def test_a_kind_that_is_removed_and_installed_again(cluster: Cluster, kube: Kube) -> None:
    """Removing the definition deletes every object; the watch waits, says so, and goes on when it is back."""
    await _create(kube, 3)
    async with watching(cluster.kubeconfig()) as seen:
        await seen.synced()
        await kube.remove_kamaji()
        await eventually(lambda: "is the CRD installed" in (seen.reflector.problem or ""), "a problem that says it")
        await kube.install_kamaji()
        await _create(kube, 2)
        await seen.knows("tcp-0000", "tcp-0001")
        await eventually(lambda: seen.reflector.problem is None, "no problem")


@pytest.fixture
async def two_versions(kube: Kube) -> AsyncIterator[None]:
    """Kamaji's definitions with a second version, which is the stored one."""
    await kube.remove_kamaji()
    await kube.install_kamaji(versions=("v1alpha1", "v1beta1"))
    yield
    await kube.clean()
    await kube.remove_kamaji()


@pytest.mark.usefixtures("two_versions")
async def test_two_versions_served(cluster: Cluster, kube: Kube) -> None:
    """When a second version of the API is served, objects written in either are seen, whichever is asked for."""
    await kube.namespace("tenants")
    async with watching(cluster.kubeconfig()) as seen:
        await seen.synced()
        await kube.create("tenantcontrolplanes", _tcp("old-way"))
        path = "/apis/kamaji.clastix.io/v1beta1/namespaces/tenants/tenantcontrolplanes"
        await kube.call("POST", path, _tcp("new-way") | {"apiVersion": "kamaji.clastix.io/v1beta1"})
        await seen.knows("old-way", "new-way")

        assert len({object_["apiVersion"] for object_ in seen.known.values()}) == 1
