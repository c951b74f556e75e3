"""The simulator as a service, in this process and in another."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from kamaji_events.errors import RecordingError
from kamaji_events.simulator import ServePlan, Simulator, Store, fill, serve
from kamaji_events.simulator.process import SimulatorProcess
from tests.support.recordings import RECORDINGS

TCPS = "tenantcontrolplanes"
PATH = f"/apis/kamaji.clastix.io/v1alpha1/{TCPS}"
LIFECYCLE = RECORDINGS / "lifecycle.jsonl.gz"


@asynccontextmanager
async def serving(plan: ServePlan) -> AsyncIterator[Simulator]:
    """A plan that is being served."""
    ready: asyncio.Queue[Simulator] = asyncio.Queue(1)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(serve(plan, on_ready=ready.put_nowait))
        yield await ready.get()
        task.cancel()


async def names(url: str, count: int) -> list[str]:
    """Names of the first control planes that a watch tells."""
    told: list[str] = []
    query = {"watch": "1", "timeoutSeconds": "30"}
    async with httpx.AsyncClient(base_url=url) as client, client.stream("GET", PATH, params=query) as answer:
        async for line in answer.aiter_lines():
            told.append(json.loads(line)["object"]["metadata"]["name"])
            if len(told) == count:
                break
    return told


async def test_a_recording_begins_when_somebody_watches() -> None:
    """Nothing happens before the first watch, so that it misses nothing."""
    async with serving(ServePlan(recordings=(LIFECYCLE,), speed=None)) as simulator:
        assert not simulator.store.state(TCPS)
        assert await names(simulator.url, 57) == ["acme"] * 57


async def test_recordings_are_multiplied() -> None:
    """Several recordings at once, as many control planes as wanted."""
    both = (LIFECYCLE, RECORDINGS / "migrate.jsonl.gz")
    async with serving(ServePlan(recordings=both, copies=4, speed=None)) as simulator:
        assert set(await names(simulator.url, 150)) == {"acme-0", "mover-1", "acme-2", "mover-3"}


async def test_several_recordings_as_they_are() -> None:
    """Their resourceVersions would clash, so that a number of copies must be said."""
    with pytest.raises(RecordingError, match="how many copies"):
        await serve(ServePlan(recordings=(LIFECYCLE, LIFECYCLE)))


async def test_a_living_fleet() -> None:
    """Without anything else a fleet is invented."""
    async with serving(ServePlan(fleet=3, existing=2, speed=None, seed=5)) as simulator:
        told = await names(simulator.url, 200)

    assert set(told) == {f"tcp-{number:04}" for number in range(5)}


def test_a_plan_for_another_process() -> None:
    """A plan is the same when it was written and read, paths included."""
    plan = ServePlan(recordings=(LIFECYCLE,), copies=3, speed=None, kubeconfig=Path("kubeconfig"))

    assert ServePlan.decode(plan.encode()) == plan
    assert ServePlan.decode("{}") == ServePlan()


async def test_a_kubeconfig(tmp_path: Path) -> None:
    """The kubeconfig names server and token, and only its owner can read it."""
    path = tmp_path / "kubeconfig"
    async with serving(ServePlan(kubeconfig=path, token="good", fleet=0)) as simulator:
        content = json.loads(path.read_text())

    assert content["clusters"][0]["cluster"]["server"] == simulator.url
    assert content["users"][0]["user"] == {"token": "good"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_filled() -> None:
    """A store is filled with ready control planes with names and uids of their own, and with their DataStores."""
    store = Store()
    fill(store, 250, namespaces=3, owned=True)
    tcps = list(store.objects(TCPS))
    users = [user for content in store.objects("datastores") for user in content["status"]["usedBy"]]

    assert len({content["metadata"]["uid"] for content in tcps}) == 250
    assert {content["status"]["kubernetesResources"]["version"]["status"] for content in tcps} == {"Ready"}
    assert sorted(users) == sorted(f"{c['metadata']['namespace']}/{c['metadata']['name']}" for c in tcps)
    assert len(store.state("secrets")) == 250 * 11
    secret = next(store.objects("secrets"))
    (owner,) = secret["metadata"]["ownerReferences"]
    assert owner["uid"] in {content["metadata"]["uid"] for content in tcps}


async def test_another_process() -> None:
    """A process of its own serves what is filled in, and ends with its context."""
    async with SimulatorProcess(ServePlan(filled=30)) as simulator, httpx.AsyncClient(base_url=simulator.url) as client:
        listed = (await client.get(PATH)).json()
        assert len(listed["items"]) == 30
    async with httpx.AsyncClient(base_url=simulator.url) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(PATH)
