"""A memory made anew from the history: what is known from events is compared, what is not is no difference."""

from collections.abc import Iterable
from itertools import pairwise

import msgspec
import pytest

from kamaji_events.event import Event
from kamaji_events.recording import RecordedLine, read_recording
from publisher.derive import Derivation
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.recall import Recall
from publisher.observation import Observation, Resource, SyncEnded, SyncItem, SyncStarted
from publisher.render import render
from publisher.snapshot import TCP_DECODER
from tests.support.recordings import RECORDINGS

TCPS = Resource.TENANTCONTROLPLANES

Lives = list[tuple[list[Event], bytes | None]]
"""After each step: all events so far, and the object as it is then; None once it is gone."""


def lives(name: str) -> Lives:
    """A recording of one object, cut behind each change of it."""
    found: Lives = []
    derivation, told = Derivation(Policy()), list[Event]()
    for line in read_recording(RECORDINGS / f"{name}.jsonl.gz"):
        told += events(derivation.take(line))
        if line.resource == TCPS and line.type in ("ADDED", "MODIFIED", "DELETED"):
            found.append((list(told), None if line.type == "DELETED" else watch_line(line)))
    return found


def watch_line(line: RecordedLine) -> bytes:
    """The change as the API server sent it."""
    return msgspec.json.encode({"type": line.type, "object": line.object})


def events(decisions: Iterable[Decision]) -> list[Event]:
    """Decisions as a subscriber sees them."""
    return [Event.from_bytes(render(decision, cluster="c", term=1).body) for decision in decisions]


def compared(told: list[Event], *objects: bytes) -> list[Event]:
    """What comparing the recalled memory with these objects says."""
    recall = Recall()
    for event in told:
        recall.take(event)
    fleet = Fleet.restore(Policy(), recall.memories(), epoch=2)
    listed: list[Observation[object]] = [SyncStarted(TCPS)]
    listed += [SyncItem(TCPS, TCP_DECODER.line(raw).snapshot) for raw in objects]
    listed.append(SyncEnded(TCPS, "9999999"))
    return events(decision for seen in listed for decision in fleet.observe(seen, 2e9))


@pytest.mark.parametrize("name", ["lifecycle", "migrate", "rotation", "stuckdelete"])
def test_nothing_is_said_again_of_an_object_that_did_not_change(name: str) -> None:
    """Wherever the memory is lost, comparing with the very same object finds no step that was told before."""
    for told, raw in lives(name):
        if raw is None:
            continue
        names = {event.name for event in told}
        again = compared(told, raw)

        assert not [event.name for event in again if event.operationid and event.name in names], again
        assert not [event.name for event in again if event.name in ("state.ready", "kubeconfig.available")]


@pytest.mark.parametrize("name", ["lifecycle", "migrate", "rotation"])
def test_an_operation_that_was_open_ends_once(name: str) -> None:
    """An operation found open in the history is judged against its own target, and keeps its operation id."""
    steps = lives(name)
    whole = [event for event in steps[-1][0] if event.operationid]
    last = next(raw for _, raw in reversed(steps) if raw is not None)
    for (told, _), _ in pairwise(steps):
        begun = {event.operationid or "" for event in told} - {""}
        over = {event.operationid or "" for event in told if event.name.endswith((".completed", ".cancelled"))}
        ended = [event for event in compared(told, last) if event.name.endswith((".completed", ".cancelled"))]

        known = [event.operationid or "" for event in ended if event.operationid in begun]
        assert sorted(known) == sorted(begun - over - {whole[-1].operationid or ""}), [e.name for e in ended]


def test_an_object_that_vanished_meanwhile_is_told_gone() -> None:
    """What the history knows and the cluster does not has been deleted while the memory was lost."""
    told, _ = lives("lifecycle")[20]

    gone = compared(told)

    assert [event.name for event in gone] == ["delete.started", "delete.finalized"]
    assert all(event.data["reconstructed"] for event in gone)
    assert all((event.sequence or "").startswith("000002-") for event in gone)
    assert gone[0].data["state"]["version"] == "v1.34.1"


def test_ids_of_the_new_epoch_never_meet_those_of_the_old() -> None:
    """The uid is marked in every id that the new epoch decides about what it opened itself."""
    told, _ = lives("lifecycle")[20]
    old = {event.id for event in told}

    assert not old & {event.id for event in compared(told)}


def test_an_object_whose_end_was_told_is_not_recalled() -> None:
    """After delete.completed nothing waits for it any more."""
    told, _ = lives("lifecycle")[-1]
    recall = Recall()
    whole = Derivation(Policy())
    for line in read_recording(RECORDINGS / "lifecycle.jsonl.gz"):
        for event in events(whole.take(line)):
            recall.take(event)
    for event in events(whole.end()):
        recall.take(event)

    assert told
    assert [key for key, memory in recall.memories().items() if memory.name == "acme"] == []


def test_copies_teach_nothing() -> None:
    """A stream may hold an event twice; the second reading changes nothing."""
    told, raw = lives("lifecycle")[30]
    assert raw is not None

    assert [event.id for event in compared(told + told[-5:], raw)] == [event.id for event in compared(told, raw)]
