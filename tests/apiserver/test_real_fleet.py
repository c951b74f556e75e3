"""Three hundred control planes at once on a real server, each with every event right."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import Kube
from tests.apiserver.operator_actor import OperatorActor, Step, recorded
from tests.apiserver.publishing import Published, publishing
from tests.apiserver.watching import eventually

_RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"
_ONE = "tcp-000"
_COUNT = 300


def _expected() -> list[tuple[str, int | None]]:
    content = json.loads((_RECORDINGS / "fleet.expected.json").read_text())
    return [(event, version) for event, version in content["objects"][f"fleet/{_ONE}"]]


def _thinned() -> list[Step]:
    """One object's life: every edit, and every state that an event is concluded from.

    300 times all the states between them would test the server's patience, not ours.
    """
    telling = {str(version) for _, version in _expected()}
    steps = recorded(_RECORDINGS / "fleet.jsonl.gz", "tenantcontrolplanes")
    own = [step for step in steps if step["object"]["metadata"]["name"] == _ONE]
    kept = [own[0]]
    for before, step in pairwise(own):
        old, new = before["object"]["metadata"], step["object"]["metadata"]
        edit = any(old.get(name) != new.get(name) for name in ("finalizers", "generation", "deletionTimestamp"))
        if edit or new["resourceVersion"] in telling or step["type"] == "DELETED":
            kept.append(step)
    return kept


def _phases(steps: list[Step]) -> list[list[Step]]:
    """Creation, upgrade, deletion."""
    ends = {str(version) for event, version in _expected() if event in {"create.completed", "upgrade.completed"}}
    phases: list[list[Step]] = [[]]
    for step in steps:
        phases[-1].append(step)
        if step["object"]["metadata"]["resourceVersion"] in ends:
            phases.append([])
    return phases


def _named(steps: list[Step], name: str) -> list[Step]:
    renamed: list[Step] = orjson.loads(orjson.dumps(steps).replace(_ONE.encode(), name.encode()))
    return renamed


def _sequences(published: Published) -> dict[str, list[int]]:
    counted: dict[str, list[int]] = {}
    for event in published.events():
        counted.setdefault(event["subject"], []).append(int(event["sequence"].rpartition("-")[2]))
    return counted


@pytest.mark.timeout(300, func_only=True)
async def test_three_hundred_at_once(cluster: Cluster, kube: Kube) -> None:
    """All are created, then all upgraded, then all deleted; each one's events come in order, whole, and once."""
    names = [f"many-{number:03}" for number in range(_COUNT)]
    actors = {name: OperatorActor(kube) for name in names}
    expected = [event for event, _ in _expected()]
    await kube.namespace("fleet")
    await OperatorActor(kube).play(recorded(_RECORDINGS / "fleet.jsonl.gz", "datastores")[:1])
    async with publishing(cluster.kubeconfig()) as published:
        await published.synced()
        for phase in _phases(_thinned()):
            await asyncio.gather(*(actor.play(_named(phase, name)) for name, actor in actors.items()))
        await eventually(
            lambda: len(published.events()) >= _COUNT * len(expected), lambda: (len(published.events()), "events")
        )
        wrong = {name: told for name in names if (told := published.names(f"fleet/{name}")) != expected}

        assert wrong == {}
        assert _sequences(published) == {f"fleet/{name}": [*range(1, len(expected) + 1)] for name in names}
        assert len({message.id for message in published.messages}) == len(published.messages)
        assert published.syncs() == 2
