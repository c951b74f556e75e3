"""The whole publisher against what a real API server does to it: away, forgetful, restored, emptied."""

import asyncio
from typing import Any

from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import KAMAJI, Kube
from tests.apiserver.lives import Life
from tests.apiserver.publishing import Published, publishing
from tests.apiserver.watching import eventually


async def _forget(cluster: Cluster) -> None:
    """Make every remembered version too old."""
    await asyncio.to_thread(cluster.compact)
    await asyncio.to_thread(cluster.server.kill)
    await asyncio.to_thread(cluster.server.start)


def _last(published: Published, subject: str) -> dict[str, Any]:
    event: dict[str, Any] = [event for event in published.events() if event["subject"] == subject][-1]
    return event


def _reconstructed(published: Published) -> dict[str, bool]:
    return {event["id"]: event["data"]["reconstructed"] for event in published.events()}


async def test_a_restart_resumes_where_it_was(cluster: Cluster, kube: Kube) -> None:
    """What happened while no publisher ran is told by the next one exactly as if it had been there."""
    life = Life(kube, "acme")
    async with publishing(cluster.kubeconfig()) as first:
        await first.synced()
        before = await life.until("create.completed")
        await eventually(lambda: first.names(life.subject) == before, lambda: first.names(life.subject))
    after = await life.until("wake.completed")
    async with publishing(cluster.kubeconfig(), recovered=first.memory()) as second:
        await eventually(
            lambda: first.names(life.subject) + second.names(life.subject) == after, lambda: second.names(life.subject)
        )

        assert second.syncs() == 0
        assert not any(_reconstructed(second).values())


async def test_away_too_long(cluster: Cluster, kube: Kube) -> None:
    """With 410 the states are compared: what can be concluded is told once, as reconstructed; the rest is quiet."""
    upgraded, gone, quiet, new = (Life(kube, name) for name in ("upgraded", "gone", "quiet", "new"))
    async with publishing(cluster.kubeconfig()) as first:
        await first.synced()
        for life in (upgraded, gone, quiet):
            await life.until("create.completed")
        await first.told("tenants/quiet", "state.ready")
    await upgraded.until("upgrade.completed")
    await gone.finish()
    await new.until("create.completed")
    await _forget(cluster)
    async with publishing(cluster.kubeconfig(), recovered=first.memory()) as second:
        await second.synced()
        await second.told("tenants/gone", "delete.completed")

        assert second.names("tenants/upgraded") == ["upgrade.requested", "upgrade.started", "upgrade.completed"]
        assert second.names("tenants/gone") == ["delete.started", "delete.finalized", "delete.completed"]
        assert second.names("tenants/quiet") == []
        assert {"create.started", "create.completed", "state.ready"} <= set(second.names("tenants/new"))
        told = {event["subject"] for event in second.events() if event["data"]["reconstructed"]}
        assert told == {"tenants/upgraded", "tenants/gone", "tenants/new"}


async def test_restored_from_a_backup(cluster: Cluster, kube: Kube) -> None:
    """Versions go back under a running publisher: a new epoch begins, loudly, and what vanished is told as deleted."""
    stays, lost = Life(kube, "stays"), Life(kube, "lost")
    async with publishing(cluster.kubeconfig()) as published:
        await published.synced()
        await stays.until("create.completed")
        snapshot = await asyncio.to_thread(cluster.snapshot, "backup")
        await lost.until("create.completed")
        await published.told("tenants/lost", "state.ready")
        await asyncio.to_thread(cluster.restore, snapshot)
        await published.told("tenants/lost", "delete.completed")
        await stays.finish()
        await published.told("tenants/stays", "delete.completed")

        instance = [event["type"].rpartition("publisher.")[2] for event in published.events("publisher")]
        assert "memory.lost" in instance
        assert _last(published, "tenants/stays")["sequence"].startswith("000002-")
        finalized = f"{_last(published, 'tenants/lost')['operationid']}.finalized"
        assert _reconstructed(published)[finalized]
        assert len({message.id for message in published.messages}) == len(published.messages)


async def test_the_definitions_are_removed_and_installed_again(cluster: Cluster, kube: Kube) -> None:
    """Each control plane is told as deleted when its kind goes; a new one of the same name is a new object."""
    former = Life(kube, "acme")
    async with publishing(cluster.kubeconfig()) as published:
        await published.synced()
        await former.until("create.completed")
        await published.told("tenants/acme", "state.ready")
        removal = asyncio.create_task(kube.remove_kamaji())
        await published.told("tenants/acme", "delete.started")
        await kube.patch("tenantcontrolplanes", "tenants", "acme", {"metadata": {"finalizers": None}})
        await removal
        await published.told("tenants/acme", "delete.completed")
        await kube.install_kamaji()
        await Life(kube, "acme").until("create.completed")
        await published.told("tenants/acme", "create.completed", times=2)

        assert len({event["partitionkey"] for event in published.events()}) == 2
        told = published.names("tenants/acme")
        assert told[-5:] == [
            "create.started",
            "endpoint.assigned",
            "kubeconfig.available",
            "create.completed",
            "state.ready",
        ]


async def test_a_namespace_is_deleted_with_a_control_plane_in_it(cluster: Cluster, kube: Kube) -> None:
    """Deployment, Services, ConfigMaps and Secrets go with it; completed comes when nothing that it owned is left."""
    life = Life(kube, "acme", owned=True)
    async with publishing(cluster.kubeconfig(), settings={"watch_secrets": True}) as published:
        await published.synced()
        await life.until("create.completed")
        await kube.end_namespace("tenants")
        await published.told("tenants/acme", "delete.started")
        await kube.patch("tenantcontrolplanes", "tenants", "acme", {"metadata": {"finalizers": None}})
        await published.told("tenants/acme", "delete.finalized")
        secret = "acme-datastore-config"
        assert [item["metadata"]["name"] for item in await kube.items("secrets", "tenants")] == [secret]
        assert "delete.completed" not in published.names("tenants/acme")
        await kube.patch("secrets", "tenants", secret, {"metadata": {"finalizers": None}})
        await published.told("tenants/acme", "delete.completed")
        await kube.finalize_namespace("tenants")

        data = _last(published, "tenants/acme")["data"]
        assert data["cleanup"] == "unverified"  # no DataStore says whether it still counts it
        assert {"Deployment", "Service", "ConfigMap", "Ingress", "Secret"} <= set(data["verified"])
        assert data["namespaceFree"] is True


async def test_owned_kinds_that_may_not_be_read(cluster: Cluster, kube: Kube) -> None:
    """Without the right to list a kind the deletion is told all the same, and which kind nobody could check."""
    user = "narrow"
    watched = {"apiGroups": [KAMAJI], "resources": ["tenantcontrolplanes", "datastores"], "verbs": ["list", "watch"]}
    owned = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}
    await kube.allow(user, {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}, [watched, owned])
    life = Life(kube, "acme")
    async with publishing(cluster.kubeconfig(user)) as published:
        await published.synced()
        await life.finish()
        await published.told("tenants/acme", "delete.completed")

        data = _last(published, "tenants/acme")["data"]
        assert data["verified"] == ["Deployment"]
        assert {"Service", "ConfigMap", "Ingress", "Secret"} <= set(data["unverified"])
        assert data["cleanup"] == "unverified"
