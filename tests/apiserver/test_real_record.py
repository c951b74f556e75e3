"""Recording a real server: what is in the file, what is not, and that it gives the events that were published."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from kamaji_events.envelope import Message
from kamaji_events.errors import ClusterRefused, RecordingError
from publisher.derive import derive
from publisher.record import Recorded, RecordPlan, record
from publisher.watch.api import Api
from publisher.watch.credentials import find_credentials
from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import KAMAJI, Kube
from tests.apiserver.lives import RECORDINGS, Life
from tests.apiserver.operator_actor import BODIES, OperatorActor, recorded
from tests.apiserver.publishing import CLUSTER, publishing
from tests.apiserver.watching import eventually
from tests.support.cut_proxy import Proxy
from tests.support.rabbit import fresh

_SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cw=="
"""What the actor's Secrets hold."""
_TIMES = {"requestedAt", "startedAt", "endedAt", "durationSeconds"}
_KINDS = 8
"""Kinds that are recorded: Kamaji's two, five that it owns, Jobs."""


@asynccontextmanager
async def _recording(kubeconfig: Path, file: Path, plan: RecordPlan | None = None) -> AsyncIterator[Recorded]:
    told = Recorded()
    async with Api(find_credentials(kubeconfig)) as api, asyncio.TaskGroup() as group:
        task = group.create_task(record(api, file, plan, told=told))
        yield told
        task.cancel()


def _comparable(messages: list[Message]) -> dict[str, list[dict[str, Any]]]:
    """Events by object, without what depends on when somebody looked."""
    told: dict[str, list[dict[str, Any]]] = {}
    for message in messages:
        event = orjson.loads(message.body)
        del event["time"]
        for name in _TIMES & (operation := event["data"].get("operation") or {}).keys():
            del operation[name]
        told.setdefault(event["partitionkey"], []).append(event)
    return told


async def _mark_the_end(kube: Kube, told: Recorded) -> str:
    """An object of each kind, so that one can wait until the recording has come so far."""
    end = fresh("end")
    meta = {"name": end, "labels": {"kamaji.clastix.io/name": end, "tcp.kamaji.clastix.io/name": end}}
    kinds = {"tenantcontrolplanes": "TenantControlPlane", "datastores": "DataStore"}
    for resource in told.versions:
        metadata = meta if resource == "datastores" else meta | {"namespace": "tenants"}
        kind = {"apiVersion": f"{KAMAJI}/v1alpha1", "kind": kinds[resource]} if resource in kinds else {}
        body = kind | {"metadata": metadata, "spec": {}} | BODIES.get(resource, {})
        made = await kube.create(resource, body)
        version = int(made["metadata"]["resourceVersion"])
        await eventually(partial(_recorded_up_to, told, resource, version), f"{resource} up to {version}")
    return f"tenants/{end}"


def _recorded_up_to(told: Recorded, resource: str, version: int) -> bool:
    return int(told.versions[resource] or 0) >= version


# Not the recording loadbalancer: what a successor of the same name does to delete.completed hangs on when one looks
@pytest.mark.parametrize("name", ["lifecycle", "migrate", "rotation"])
async def test_a_recording_gives_the_events_that_were_published(
    cluster: Cluster, kube: Kube, tmp_path: Path, name: str
) -> None:
    """Derive of what was recorded tells the same of each object as the publisher that ran beside the recorder."""
    file = tmp_path / "recording.jsonl.gz"
    expected = json.loads((RECORDINGS / f"{name}.expected.json").read_text())["objects"]
    async with (
        publishing(cluster.kubeconfig(), settings={"watch_secrets": True}) as published,
        _recording(cluster.kubeconfig(), file, RecordPlan(secrets=True, kamaji="26.8.2-edge")) as told,
    ):
        await published.synced()
        await eventually(lambda: len(told.versions) >= _KINDS, lambda: told)
        await OperatorActor(kube).play(recorded(RECORDINGS / f"{name}.jsonl.gz"))
        subject = next(iter(expected)).partition("#")[0]
        await published.told(subject, "delete.completed", times=len(expected))
        await published.told(await _mark_the_end(kube, told), "create.started")

    derived = _comparable(list(derive(file, cluster=CLUSTER, term=1)))
    live = _comparable([message for message in published.messages if ".publisher." not in message.type])
    assert derived.keys() == live.keys()
    for uid, events in live.items():
        assert derived[uid] == events
    assert told.relists == 0


async def test_no_secret_is_in_the_file(cluster: Cluster, kube: Kube, tmp_path: Path) -> None:
    """Neither what Secrets hold, nor what kubectl copied into an annotation, nor credentials within a spec."""
    word = "hunter2-of-the-tests"
    file = tmp_path / "recording.jsonl"
    async with _recording(cluster.kubeconfig(), file, RecordPlan(secrets=True)) as told:
        await eventually(lambda: len(told.versions) >= _KINDS, lambda: told)
        await kube.namespace("tenants")
        label = {"kamaji.clastix.io/name": "acme"}
        copy = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"stringData":{{"password":"{word}"}}}}'}
        metadata = {"name": fresh("s"), "namespace": "tenants", "labels": label, "annotations": copy}
        await kube.create("secrets", {"metadata": metadata, "stringData": {"password": word}})
        store = {"basicAuth": {"password": {"content": base64.b64encode(word.encode()).decode()}}}
        body = {"apiVersion": f"{KAMAJI}/v1alpha1", "kind": "DataStore", "metadata": {"name": "default"}}
        await kube.create("datastores", body | {"spec": store})
        await _mark_the_end(kube, told)

    text = file.read_text()
    assert '"secrets"' in text
    assert word not in text
    assert base64.b64encode(word.encode()).decode() not in text
    assert _SECRET not in text
    assert file.stat().st_mode & 0o077 == 0


async def test_kinds_without_rights_are_left_out_and_named(cluster: Cluster, kube: Kube, tmp_path: Path) -> None:
    """Owned kinds that may not be read are left out; without Kamaji's own there is no recording, but a clear error."""
    user = fresh("narrow")
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    kinds = {"apiGroups": [KAMAJI], "resources": ["tenantcontrolplanes", "datastores"], "verbs": ["list", "watch"]}
    with pytest.raises(ClusterRefused, match=r"list|watch"):
        async with Api(find_credentials(cluster.kubeconfig(user))) as api:
            await record(api, tmp_path / "narrow.jsonl")
    await kube.allow(user, subject, [kinds])
    async with _recording(cluster.kubeconfig(user), tmp_path / "narrow.jsonl") as told:
        await eventually(lambda: len(told.versions) == 2 and len(told.left_out) == _KINDS - 3, lambda: told)

        assert "deployments.apps" in told.left_out["deployments"]


async def test_a_relist_is_counted_and_the_recording_goes_on(cluster: Cluster, kube: Kube, tmp_path: Path) -> None:
    """What the server forgot is listed anew; derive takes up the comparison like the publisher."""
    file = tmp_path / "recording.jsonl.gz"
    life = Life(kube, "acme")
    async with Proxy.to(cluster.url) as proxy, _recording(cluster.kubeconfig(url=proxy.url), file) as told:
        await eventually(lambda: len(told.versions) >= _KINDS - 1, lambda: told)
        await life.until("create.completed")
        await eventually(lambda: _recorded_up_to(told, "tenantcontrolplanes", life.version), lambda: told)
        proxy.swallow()
        proxy.cut()
        await life.until("upgrade.completed")
        await asyncio.to_thread(cluster.compact)
        await asyncio.to_thread(cluster.server.kill)
        await asyncio.to_thread(cluster.server.start)
        proxy.cut()
        proxy.flow()
        await eventually(lambda: told.relists >= _KINDS - 1, lambda: told)

    names = [message.type.rpartition("tenantcontrolplane.")[2] for message in derive(file)]
    assert names[-3:] == ["upgrade.requested", "upgrade.started", "upgrade.completed"]


async def test_a_file_that_exists_is_never_overwritten(cluster: Cluster, kube: Kube, tmp_path: Path) -> None:
    """A recording may be the only one of its kind."""
    file = tmp_path / "recording.jsonl"
    file.write_text("precious")
    async with Api(find_credentials(cluster.kubeconfig())) as api:
        with pytest.raises(RecordingError, match="exists already"):
            await record(api, file)

    assert file.read_text() == "precious"
