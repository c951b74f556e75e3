"""The operator's recorded work, done again on a real server: the same events as in the recordings."""

import json
from pathlib import Path

import pytest

from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import Kube
from tests.apiserver.operator_actor import OperatorActor, recorded
from tests.apiserver.publishing import Published, publishing
from tests.apiserver.watching import eventually

_RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"
_CLOCKS = ("outage.", "state.looping", "state.settled")
"""Events that time decides: the actor works faster than the operator did."""

Expected = dict[str, list[tuple[str, str | None]]]


def _expected(name: str) -> Expected:
    content = json.loads((_RECORDINGS / f"{name}.expected.json").read_text())
    return {
        subject: [(event, None if version is None else str(version)) for event, version in events]
        for subject, events in content["objects"].items()
    }


def _told(published: Published) -> Expected:
    """Events by object; objects that had one name in turn are told apart as in the recordings."""
    subjects: dict[str, list[str]] = {}
    for event in published.events():
        uids = subjects.setdefault(event["subject"], [])
        if event["partitionkey"] not in uids:
            uids.append(event["partitionkey"])
    by_uid = published.by_uid()
    return {
        subject if len(uids) == 1 else f"{subject}#{number}": [
            event for event in by_uid[uid] if not event[0].startswith(_CLOCKS)
        ]
        for subject, uids in subjects.items()
        for number, uid in enumerate(uids, start=1)
    }


def _translated(expected: Expected, actor: OperatorActor) -> Expected:
    """Recorded resourceVersions as those that the real server gave; a deletion's own is known to nobody but it."""
    return {
        subject: [(event, actor.versions.get(version or "")) for event, version in events]
        for subject, events in expected.items()
    }


def _without_deletions(told: Expected, actor: OperatorActor) -> Expected:
    known = set(actor.versions.values())
    return {
        subject: [(event, version if version in known else None) for event, version in events]
        for subject, events in told.items()
    }


def _whole(told: Expected, expected: Expected) -> bool:
    return {subject: len(events) for subject, events in told.items()} == {
        subject: len(events) for subject, events in expected.items()
    }


@pytest.mark.parametrize("name", ["lifecycle", "migrate", "stuckdelete", "rotation", "loadbalancer"])
async def test_recorded_work_gives_the_same_events(cluster: Cluster, kube: Kube, name: str) -> None:
    """Every event of the recording in order, each concluded from the write that the recorded one became."""
    expected = _expected(name)
    actor = OperatorActor(kube)
    steps = recorded(_RECORDINGS / f"{name}.jsonl.gz")
    async with publishing(cluster.kubeconfig(), settings={"watch_secrets": True}) as published:
        await published.synced()
        await actor.play(steps)
        await eventually(lambda: _whole(_told(published), expected), lambda: _told(published))

        assert _without_deletions(_told(published), actor) == _translated(expected, actor)
        assert published.syncs() == 2
