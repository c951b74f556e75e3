"""The recordings of the real operator give exactly what is expected of them."""

import pytest

from kamaji_events.event import Event
from publisher.derive import derive
from tests.support.recordings import RECORDINGS, expected, names, told_by_object


@pytest.mark.parametrize("name", names())
def test_a_recording_gives_exactly_what_is_expected(name: str) -> None:
    """Each object's events in order, with the resourceVersions that they are concluded from."""
    assert told_by_object(derive(RECORDINGS / f"{name}.jsonl.gz")) == expected(name)


@pytest.mark.parametrize("name", names())
def test_a_recording_gives_the_same_bytes_twice(name: str) -> None:
    """Nothing depends on the moment, the process or the order of a set."""
    path = RECORDINGS / f"{name}.jsonl.gz"
    assert [message.body for message in derive(path)] == [message.body for message in derive(path)]


@pytest.mark.parametrize("name", names())
def test_ids_are_unique_and_sequences_gapless(name: str) -> None:
    """No id means two events; each object's events are numbered from one without a gap."""
    events = [Event.from_bytes(message.body) for message in derive(RECORDINGS / f"{name}.jsonl.gz")]
    assert len({event.id for event in events}) == len(events)
    numbers: dict[str | None, list[str | None]] = {}
    for event in events:
        numbers.setdefault(event.partitionkey, []).append(event.sequence)
    for found in numbers.values():
        assert found == [f"000001-{number:014d}" for number in range(1, len(found) + 1)]


def test_every_deletion_of_the_recordings_is_verified() -> None:
    """The real operator leaves nothing behind and its DataStores let go, except where a namesake lives."""
    for name in names():
        events = [Event.from_bytes(message.body) for message in derive(RECORDINGS / f"{name}.jsonl.gz")]
        ended = [event for event in events if event.name == "delete.completed" and event.kind == "tenantcontrolplane"]
        assert ended
        for event in ended:
            assert event.data["cleanup"] == ("verified" if event.data["recreatedAs"] is None else "unverified")
            assert event.data["leftovers"] == []
            assert "Secret" in event.data["verified"]
