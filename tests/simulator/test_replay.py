"""Recordings as they are, played again."""

import asyncio
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import httpx
import msgspec
import pytest

from kamaji_events.recording import RecordedLine, read_recording
from kamaji_events.simulator import Replay, Simulator, Store
from tests.support.recordings import RECORDINGS, names

if TYPE_CHECKING:
    from kamaji_events.simulator.history import Past

TCPS = "tenantcontrolplanes"
PATH = f"/apis/kamaji.clastix.io/v1alpha1/{TCPS}"
CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})


def recorded(name: str) -> list[RecordedLine]:
    """The lines of a recording."""
    return list(read_recording(RECORDINGS / f"{name}.jsonl.gz"))


def changes(lines: Iterable[RecordedLine], resource: str) -> list[tuple[str, object]]:
    """Type and object of each change of a kind."""
    return [
        (line.type, msgspec.json.decode(line.object))
        for line in lines
        if line.type in CHANGES and line.resource == resource
    ]


def line(at: float, kind: str, content: object, resource: str = TCPS) -> RecordedLine:
    """A made-up line."""
    return RecordedLine(at, resource, kind, msgspec.Raw(msgspec.json.encode(content)))


def tcp(name: str, version: int, uid: str = "") -> dict[str, dict[str, str]]:
    """A made-up object."""
    return {"metadata": {"name": name, "namespace": "t", "uid": uid or name, "resourceVersion": str(version)}}


def listed(version: int, *items: object) -> dict[str, object]:
    """A made-up list."""
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items) or None}


@pytest.mark.parametrize("name", names())
async def test_a_watch_says_what_was_recorded(name: str) -> None:
    """What a client hears is the recording, byte for byte in meaning, with its own resourceVersions."""
    lines = recorded(name)
    store = Store()
    replay = Replay.of(store, lines)
    async with Simulator(store) as simulator, httpx.AsyncClient(base_url=simulator.url, timeout=30) as client:
        version = (await client.get(PATH)).json()["metadata"]["resourceVersion"]
        await replay.run(None)
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "1"}
        told = [json.loads(line) for line in (await client.get(PATH, params=query)).text.splitlines()]

    assert [(said["type"], said["object"]) for said in told] == changes(lines, TCPS)


def test_owned_objects_are_whole_kinds_again() -> None:
    """What was recorded as metadata is served as metadata of its own kind."""
    store = Store()
    replay = Replay.of(store, recorded("lifecycle"))
    while not store.state("deployments"):
        assert replay.step()
    (deployment,) = store.objects("deployments")

    assert (deployment["kind"], deployment["apiVersion"]) == ("Deployment", "apps/v1")
    assert deployment["metadata"]["labels"]["kamaji.clastix.io/name"] == "acme"


def test_kinds_are_put_in_order() -> None:
    """Lines of different kinds, whose watches crossed, are played by resourceVersion."""
    seen: list[Past] = []
    replay = Replay.of(Store(on_change=seen.append), recorded("migrate"))
    assert replay.step(10_000) == replay.told == len(seen[-replay.told :])

    versions = [past.number for past in seen if past.number > 950]
    assert versions == sorted(versions)


def test_step_by_step() -> None:
    """A step makes one change."""
    store = Store()
    replay = Replay.of(store, recorded("lifecycle"))

    assert replay.step() == 1
    assert [content["metadata"]["name"] for content in store.objects(TCPS)] == ["acme"]
    assert replay.step(10_000) == replay.told - 1
    assert replay.step() == 0


@pytest.mark.looptime
async def test_speed() -> None:
    """At four times its speed a recording takes a quarter of its time."""
    lines = recorded("lifecycle")
    replay = Replay.of(Store(), lines)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await replay.run(4.0)
    moments = [line.at for line in lines if line.type in CHANGES]

    assert loop.time() - begun == pytest.approx((max(moments) - min(moments)) / 4, abs=0.05)


@pytest.mark.looptime
async def test_a_cancelled_replay_goes_on() -> None:
    """What was waited for when a replay was cancelled comes first when it is taken up."""
    lines = recorded("lifecycle")
    replay = Replay.of(Store(), lines)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(20):
            await replay.run()
    before = replay.told
    await replay.run(None)

    assert 0 < before < replay.told == len([line for line in lines if line.type in CHANGES])


def test_a_later_list_is_what_it_implies() -> None:
    """A relist becomes what happened: gone, new, changed, and another object under the same name."""
    seen: list[Past] = []
    lines = [
        line(0, "LIST", listed(100, tcp("gone", 90), tcp("same", 91), tcp("moved", 92), tcp("again", 93))),
        line(1, "ERROR", {"code": 410}),
        line(2, "LIST", listed(200, tcp("same", 91), tcp("moved", 150), tcp("new", 160), tcp("again", 170, "other"))),
        line(3, "MODIFIED", tcp("new", 210)),
    ]
    store = Store(on_change=seen.append)
    made = len(seen)
    Replay.of(store, lines).step(100)
    said = [(past.kind, past.version.meta.name) for past in seen[made:]]

    assert sorted(said[:-1]) == sorted(
        [("DELETED", "gone"), ("DELETED", "again"), ("ADDED", "again"), ("MODIFIED", "moved"), ("ADDED", "new")]
    )
    assert said[-1] == ("MODIFIED", "new")
    assert sorted(store.state(TCPS)) == ["/t/again", "/t/moved", "/t/new", "/t/same"]


def test_a_baseline_can_be_announced() -> None:
    """To a server that is being watched a baseline comes as ADDED, else it was always there."""
    seen: list[Past] = []
    lines = [line(0, "LIST", listed(100, tcp("old", 90)))]
    store = Store(on_change=seen.append)
    made = len(seen)
    Replay.of(store, lines, announce=True)
    Replay.of(Store(on_change=seen.append), lines)

    assert [(past.kind, past.version.meta.name) for past in seen[made:] if past.version.kind.plural == TCPS] == [
        ("ADDED", "old")
    ]


async def test_it_waits_for_slow_watches() -> None:
    """As fast as possible is not faster than an open watch reads: nobody falls behind the window."""
    store = Store(window=1_000)
    many = [line(0, "LIST", listed(100))]
    many += [line(1, "ADDED" if number == 0 else "MODIFIED", tcp("a", 101 + number)) for number in range(30_000)]
    async with Simulator(store) as simulator, httpx.AsyncClient(base_url=simulator.url, timeout=60) as client:
        replay = Replay.of(store, many)
        query = {"watch": "1", "resourceVersion": str(store.version), "timeoutSeconds": "60"}
        async with client.stream("GET", PATH, params=query) as answer:
            told = 0
            playing = asyncio.create_task(replay.run(None))
            async for _ in answer.aiter_lines():
                told += 1
                if told == 30_000:
                    break
            await playing

    assert told == replay.told
