"""Recordings multiplied."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kamaji_events.errors import RecordingError
from kamaji_events.event import Event
from kamaji_events.recording import RecordedLine, read_recording
from kamaji_events.simulator import Replay, Store, multiply, write_recording
from publisher.derive import derive
from tests.support.recordings import RECORDINGS, names

CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})
TCPS = "tenantcontrolplanes"


def recorded(*which: str) -> list[list[RecordedLine]]:
    """Recordings by name."""
    return [list(read_recording(RECORDINGS / f"{name}.jsonl.gz")) for name in which]


def objects(lines: list[RecordedLine]) -> list[tuple[RecordedLine, dict[str, Any]]]:
    """Each change and its object."""
    return [(line, json.loads(bytes(line.object))) for line in lines if line.type in CHANGES]


def told(lines: list[RecordedLine]) -> dict[str, list[str]]:
    """What is derived, by subject."""
    by_subject: dict[str, list[str]] = defaultdict(list)
    for message in derive(lines):
        event = Event.from_bytes(message.body)
        if event.kind == "tenantcontrolplane":
            by_subject[event.subject or ""].append(event.name)
    return by_subject


def test_it_is_a_function() -> None:
    """The same arguments give the same lines; another seed gives other uids."""
    lifecycle = recorded("lifecycle")
    first, second = list(multiply(lifecycle, 5, 1)), list(multiply(lifecycle, 5, 1))
    other = list(multiply(lifecycle, 5, 2))

    assert [msgspec.json.encode(line) for line in first] == [msgspec.json.encode(line) for line in second]
    uids, others = ({content["metadata"]["uid"] for _, content in objects(lines)} for lines in (first, other))
    assert not uids & others


@pytest.mark.parametrize("name", [name for name in names() if name != "fleet"])
def test_each_copy_lives_the_recorded_life(name: str) -> None:
    """What is derived of each copy is what is derived of the recording."""
    (recording,) = recorded(name)
    one = told(recording)
    many = told(list(multiply([recording], len(one) * 3, 1)))

    assert len(many) == len(one) * 3
    assert Counter(map(tuple, many.values())) == Counter({tuple(events): 3 for events in one.values()})


def test_two_recordings_at_once() -> None:
    """Recordings take turns; every copy is complete."""
    many = told(list(multiply(recorded("lifecycle", "migrate"), 20, 4)))
    ends = Counter(events[-1] for events in many.values())

    assert Counter("migrate.completed" in events for events in many.values()) == {True: 10, False: 10}
    assert ends == {"delete.completed": 20}


def test_versions_count_up() -> None:
    """Each line has the next resourceVersion, in order of time, as one etcd would give them."""
    lines = objects(list(multiply(recorded("lifecycle", "fleet"), 8, 3)))
    versions = [int(content["metadata"]["resourceVersion"]) for _, content in lines]

    assert versions == list(range(versions[0], versions[0] + len(versions)))
    assert [line.at for line, _ in lines] == sorted(line.at for line, _ in lines)


def test_what_is_owned_is_renamed_along() -> None:
    """Owned objects belong to the copy whose name and label they bear; nothing of the original is left."""
    lines = objects(list(multiply(recorded("lifecycle"), 4, 3, namespaces=2)))
    uids = {content["metadata"]["uid"]: content["metadata"]["name"] for line, content in lines if line.resource == TCPS}
    for line, content in lines:
        metadata = content["metadata"]
        for owner in metadata.get("ownerReferences", ()):
            assert uids[owner["uid"]] == owner["name"] == metadata["labels"]["kamaji.clastix.io/name"]
            assert metadata["name"].startswith(owner["name"])
        if line.resource != "datastores":
            assert metadata["namespace"] in {"tenants-0", "tenants-1"}
    text = b"\n".join(bytes(line.object) for line, _ in lines).decode()

    assert not re.search(r'acme(?!-[0-9])|"tenants"|3310d5e9-c610', text)
    assert sorted(uids.values()) == ["acme-0", "acme-1", "acme-2", "acme-3"]


def test_secrets_named_in_status_exist() -> None:
    """Names in a status are those of the copy's own objects."""
    lines = objects(list(multiply(recorded("lifecycle"), 3, 3)))
    secrets = {content["metadata"]["name"] for line, content in lines if line.resource == "secrets"}
    named = {
        block["secretName"]
        for line, content in lines
        if line.resource == TCPS
        for block in content.get("status", {}).get("certificates", {}).values()
        if block
    }

    assert len(named) == 18
    assert named <= secrets


def test_stores_list_their_users() -> None:
    """Groups of copies share DataStores of their own, which list exactly who uses them; in the end nobody does."""
    lines = objects(list(multiply(recorded("migrate"), 6, 3, spread=1, tenants_per_store=3)))
    users: dict[str, list[str]] = {}
    most: Counter[str] = Counter()
    for line, content in lines:
        name = content["metadata"]["name"]
        if line.resource == "datastores":
            users[name] = content["status"].get("usedBy", [])
            most[name] = max(most[name], len(users[name]))
        elif line.resource == TCPS and line.type != "DELETED":
            number = int(name.rsplit("-", 1)[1])
            assert content["spec"]["dataStore"] in {f"default-{number // 3}", f"etcd-two-{number // 3}"}

    assert most == {"default-0": 3, "default-1": 3, "etcd-two-0": 3, "etcd-two-1": 3}
    assert users == {name: [] for name in most}


def test_speed_makes_times_shorter() -> None:
    """At 20 times the speed everything happens in a twentieth of the time."""
    slow, fast = (list(multiply(recorded("lifecycle"), 2, 3, speed=speed)) for speed in (1.0, 20.0))

    assert fast[-1].at == pytest.approx(slow[-1].at / 20, abs=0.002)
    assert [line.object for line in fast] == [line.object for line in slow]


def test_a_baseline_is_multiplied_too() -> None:
    """Control planes that were there from the start are in the first list, once for each copy, with their stores."""
    meta = {"name": "old", "namespace": "t", "uid": "u-1", "resourceVersion": "5"}
    item = {"metadata": meta, "spec": {"dataStore": "default"}}
    store = {"metadata": {"name": "default", "uid": "d", "resourceVersion": "6"}, "status": {"usedBy": ["t/old"]}}
    lines = [
        RecordedLine(0, resource, "LIST", msgspec.Raw(msgspec.json.encode({"metadata": {}, "items": [one]})))
        for resource, one in ((TCPS, item), ("datastores", store))
    ]
    many = list(multiply([lines], 3, 1))
    first = {line.resource: json.loads(bytes(line.object))["items"] for line in many if line.type == "LIST"}

    assert [one["metadata"]["name"] for one in first[TCPS]] == ["old-0", "old-1", "old-2"]
    assert first["datastores"][0]["status"]["usedBy"] == ["t/old-0", "t/old-1", "t/old-2"]


def test_nothing_to_multiply() -> None:
    """A recording without a control plane is refused."""
    with pytest.raises(RecordingError, match="cannot be multiplied"):
        list(multiply([[]], 3))


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_written_and_read_again(tmp_path: Path, suffix: str) -> None:
    """A multiplied recording can be written to a file and is the same when read."""
    lines = list(multiply(recorded("stuckdelete"), 2, 1))
    write_recording(tmp_path / f"many.{suffix}", lines)

    assert list(read_recording(tmp_path / f"many.{suffix}")) == lines


def test_it_is_replayed_verbatim() -> None:
    """A store takes the lines with their resourceVersions, lazily."""
    lines = list(multiply(recorded("lifecycle"), 3, 1))
    store = Store()
    replay = Replay.lazily(store, iter(lines))
    replay.step(100_000)
    history = store.history(TCPS)
    said = history.since(history.end - replay.told, replay.told) or history.since(0, 10_000)

    assert [past.number for past in said or ()] == [
        int(content["metadata"]["resourceVersion"]) for line, content in objects(lines) if line.resource == TCPS
    ]
    assert replay.told == len(objects(lines))
