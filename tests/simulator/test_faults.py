"""What goes wrong on demand, as a client sees it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from kamaji_events.simulator import Simulator
from tests.support.installation import eventually

TCPS = "tenantcontrolplanes"
PATH = f"/apis/kamaji.clastix.io/v1alpha1/{TCPS}"
NEW = {"metadata": {"name": "acme", "namespace": "tenants"}, "spec": {}}


@asynccontextmanager
async def watch(client: httpx.AsyncClient, simulator: Simulator) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of a watch that is open."""
    query = {"watch": "1", "resourceVersion": str(simulator.store.version), "timeoutSeconds": "60"}
    async with client.stream("GET", PATH, params=query) as answer:
        assert answer.status_code == 200
        await simulator.watched(TCPS)
        yield answer.aiter_lines()


async def code(client: httpx.AsyncClient, **query: str) -> int:
    """How a list is answered."""
    return (await client.get(PATH, params=query)).status_code


async def test_too_many_requests(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """429 as often as wanted, with a Retry-After and with or without a body."""
    simulator.faults.refuse(429, retry_after=3, times=2)
    simulator.faults.refuse(429, body=False)
    first = await client.get(PATH)
    await client.get(PATH)
    empty = await client.get(PATH)

    assert (first.status_code, first.headers["Retry-After"]) == (429, "3")
    assert first.json()["reason"] == "TooManyRequests"
    assert (empty.status_code, empty.content) == (429, b"")
    assert await code(client) == 200


async def test_faults_strike_where_they_are_meant_to(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """A verb and a kind narrow a fault; healing ends it."""
    simulator.faults.refuse(503, verb="list", resource="datastores", times=None)
    datastores = PATH.replace(TCPS, "datastores")

    assert await code(client) == 200
    assert [(await client.get(datastores)).status_code for _ in range(3)] == [503] * 3
    simulator.faults.heal()
    assert (await client.get(datastores)).status_code == 200


@pytest.mark.parametrize("as_line", [True, False])
async def test_a_watch_that_is_too_old(simulator: Simulator, client: httpx.AsyncClient, *, as_line: bool) -> None:
    """410 as the only line of a 200 stream, or as a status."""
    simulator.faults.expire(TCPS, as_line=as_line)
    answer = await client.get(PATH, params={"watch": "1", "resourceVersion": "5"})

    assert answer.status_code == (200 if as_line else 410)
    error = answer.json()["object"] if as_line else answer.json()
    assert (error["code"], error["reason"]) == (410, "Expired")


async def test_a_watch_that_becomes_too_old(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """An open watch is told a 410 and ends."""
    async with watch(client, simulator) as lines:
        await simulator.faults.expire_open(TCPS)

        assert [json.loads(line)["object"]["code"] async for line in lines] == [410]


@pytest.mark.parametrize("mid_line", [True, False])
async def test_a_cut_connection(simulator: Simulator, client: httpx.AsyncClient, *, mid_line: bool) -> None:
    """A reset connection is an error to the reader, also in the middle of a line."""
    async with watch(client, simulator) as lines:
        await simulator.faults.cut(mid_line=mid_line)
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await anext(lines)


async def test_a_truncated_stream(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """The stream ends in good order, in the middle of a line."""
    async with watch(client, simulator) as lines:
        simulator.store.create(TCPS, NEW)
        whole = await anext(lines)
        await simulator.faults.truncate()
        rest = [line async for line in lines]

        assert len(rest) == 1
        assert whole.startswith(rest[0])
        assert rest[0] != whole


async def test_garbage(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """A line that is no JSON stands between two that are."""
    async with watch(client, simulator) as lines:
        await simulator.faults.garbage()
        simulator.store.create(TCPS, NEW)

        assert "<html>" in await anext(lines)
        assert json.loads(await anext(lines))["type"] == "ADDED"


async def test_a_blow_to_a_watch_that_has_ended_meanwhile(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """What is struck at while it is half open and ends before it thaws is not written to, and nobody is told of it."""
    async with asyncio.TaskGroup() as tasks:
        async with watch(client, simulator):
            simulator.faults.freeze()
            struck = tasks.create_task(simulator.faults.garbage())
            await asyncio.sleep(0)
        await eventually(lambda: not simulator.open_watches)
        simulator.faults.thaw()
        await struck

    assert await code(client) == 200


async def test_a_half_open_connection(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """No byte comes, nothing is closed; afterwards everything comes."""
    async with watch(client, simulator) as lines:
        simulator.faults.freeze()
        simulator.store.create(TCPS, NEW)
        waiting = asyncio.ensure_future(anext(lines))
        refused = asyncio.ensure_future(client.get(PATH))
        done, _ = await asyncio.wait([waiting, refused], timeout=0.2)
        assert not done
        simulator.faults.thaw()

        assert json.loads(await waiting)["type"] == "ADDED"
        assert (await refused).status_code == 200


async def test_a_cut_answer(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """A list is cut in the middle of its body."""
    simulator.store.create(TCPS, NEW)
    simulator.faults.cut_answers()
    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        await client.get(PATH)
    assert await code(client) == 200


async def test_a_deletion_that_the_watch_cache_lost(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """No watch tells it, now or later; a list shows it."""
    simulator.store.create(TCPS, NEW)
    version = simulator.store.version
    simulator.faults.lose_deletes(TCPS)
    simulator.store.delete(TCPS, "tenants", "acme")
    query = {"watch": "1", "resourceVersion": str(version), "timeoutSeconds": "1"}

    assert (await client.get(PATH, params=query)).content == b""
    assert (await client.get(PATH)).json()["items"] == []


async def test_a_restored_backup(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """Connections are cut, versions go back, what came after the backup never was."""
    simulator.faults.snapshot()
    before = simulator.store.version
    simulator.store.create(TCPS, NEW)
    async with watch(client, simulator) as lines:
        await simulator.faults.restore()
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await anext(lines)
    listed = (await client.get(PATH)).json()

    assert listed["items"] == []
    assert listed["metadata"]["resourceVersion"] == str(before)


async def test_a_definition_that_is_missing(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """Its objects go, its watches are told and end, discovery does not name it; it can be installed again."""
    simulator.store.create(TCPS, NEW)
    async with watch(client, simulator) as lines:
        await simulator.faults.remove_crd(TCPS)
        assert [json.loads(line)["type"] async for line in lines] == ["DELETED"]
    kinds = (await client.get("/apis/kamaji.clastix.io/v1alpha1")).json()["resources"]

    assert [kind["name"] for kind in kinds] == ["datastores", "datastores/status"]
    assert (await client.get(PATH)).text == "404 page not found\n"
    simulator.faults.install_crd(TCPS)
    assert await code(client) == 200


async def test_rights(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """A verb on a kind can be forbidden, in the words of a real server."""
    simulator.faults.forbid("list", TCPS)
    answer = await client.get(PATH)

    assert answer.status_code == 403
    assert answer.json()["message"] == (
        'tenantcontrolplanes.kamaji.clastix.io is forbidden: User "simulated" cannot list resource '
        '"tenantcontrolplanes" in API group "kamaji.clastix.io" at the cluster scope'
    )
    assert await code(client, watch="1", timeoutSeconds="1") == 200
    simulator.faults.allow("list", TCPS)
    assert await code(client) == 200


async def test_a_token_that_expires(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """From one moment on only another token is accepted."""
    simulator.faults.require_token("newer")
    refused = await code(client)
    answer = await client.get(PATH, headers={"Authorization": "Bearer newer"})

    assert (refused, answer.status_code) == (401, 200)


async def test_a_server_that_goes_and_comes(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """While it is down nobody is answered; it comes back on its port, with what it knew."""
    simulator.store.create(TCPS, NEW)
    await simulator.go_down()
    with pytest.raises(httpx.ConnectError):
        await client.get(PATH)
    await simulator.come_up()

    assert len((await client.get(PATH)).json()["items"]) == 1


async def test_slow_answers_are_whole(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """A limited rate and latency change nothing in what is said."""
    simulator.store.create(TCPS, NEW | {"spec": {"note": "x" * 20_000}})
    whole = (await client.get(PATH)).content
    simulator.faults.rate, simulator.faults.latency = 1_000_000.0, 0.001

    assert (await client.get(PATH)).content == whole


async def test_another_process_strikes(simulator: Simulator, client: httpx.AsyncClient) -> None:
    """Every fault can be asked for over HTTP; what is none is named with those there are."""
    struck = await client.post("/_simulator/faults/refuse", json={"status": 500, "times": 1})
    assert (struck.status_code, await code(client), await code(client)) == (200, 500, 200)
    await client.put("/_simulator/faults", json={"latency": 0.001})
    assert simulator.faults.latency == 0.001
    unknown = await client.post("/_simulator/faults/explode")
    assert "refuse" in unknown.json()["faults"]
    wrong = await client.post("/_simulator/faults/refuse", json={"colour": "red"})
    assert wrong.status_code == 400

    state: dict[str, Any] = (await client.get("/_simulator/state")).json()
    assert state["version"] == simulator.store.version
    assert state["asked"]["list tenantcontrolplanes"] == 2
