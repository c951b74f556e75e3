"""The envelope: structured CloudEvents that the cloudevents package reads as we do."""

from datetime import UTC, datetime

import orjson
import pytest

from kamaji_events.catalogue import CATALOGUE, EventType, by_type, lookup
from kamaji_events.envelope import encode
from kamaji_events.errors import EnvelopeError
from kamaji_events.event import Event


def body(event: EventType, **changes: object) -> bytes:
    """An event's bytes with attributes changed, or removed by None."""
    made = encode(
        event,
        cluster="eu-1",
        namespace="tenants",
        name="acme",
        uid="u",
        id="u.upgrade.3.completed",
        seconds=1764598089.5,
        sequence="000001-00000000000007",
        term=2,
        data={"severity": "notice"},
        operationid="u.upgrade.3",
    ).body
    attributes = orjson.loads(made) | changes
    return orjson.dumps({name: value for name, value in attributes.items() if value is not None})


@pytest.mark.parametrize("event", CATALOGUE, ids=lambda event: event.type)
def test_the_cloudevents_package_reads_the_same(event: EventType) -> None:
    """Each event of the catalogue is a valid CloudEvent for the reference package, with equal attributes."""
    ours = Event.from_bytes(body(event))
    theirs = ours.to_cloudevent()

    assert theirs.get_id() == ours.id
    assert theirs.get_type() == ours.type == event.type
    assert theirs.get_subject() == ours.subject == "tenants/acme"
    assert theirs.get_time() == ours.time == datetime(2025, 12, 1, 14, 8, 9, 500000, tzinfo=UTC)
    assert theirs.get_extension("sequence") == ours.sequence
    assert theirs.get_extension("kamajiterm") == ours.term == 2
    assert theirs.get_data() == ours.data


def test_an_event_is_read_back() -> None:
    """What a subscriber reads is what was written."""
    event = Event.from_bytes(body(CATALOGUE[3]))

    assert (event.kind, event.name) == (CATALOGUE[3].kind, CATALOGUE[3].name)
    assert (event.cluster, event.namespace, event.object_name) == ("eu-1", "tenants", "acme")
    assert (event.operationid, event.partitionkey, event.source) == ("u.upgrade.3", "u", "/kamaji/eu-1")
    assert event.severity == "notice"
    assert event.labels == {}


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"{", "not JSON"),
        (b"[]", "JSON object"),
        (body(CATALOGUE[0], id=None), "'id'"),
        (body(CATALOGUE[0], type=7), "'type'"),
        (body(CATALOGUE[0], specversion="0.3"), "specversion"),
    ],
)
def test_what_is_no_event_is_refused(raw: bytes, complaint: str) -> None:
    """The error names what is missing."""
    with pytest.raises(EnvelopeError, match=complaint):
        Event.from_bytes(raw)


def test_the_reference_package_s_complaint_is_ours() -> None:
    """An attribute that the reference package refuses is an EnvelopeError, not its own exception."""
    with pytest.raises(EnvelopeError):
        Event.from_bytes(body(CATALOGUE[0], time="yesterday")).to_cloudevent()


def test_a_foreign_or_newer_event_is_carried() -> None:
    """Unknown types and absent attributes never break a subscriber."""
    foreign = Event.from_bytes(b'{"specversion":"1.0","id":"1","source":"/x","type":"com.example.y","time":"?"}')

    assert (foreign.kind, foreign.name) == ("", "com.example.y")
    assert foreign.time is None
    assert foreign.term is None
    assert foreign.data == {}
    assert by_type(foreign.type) is None


def test_the_catalogue_is_consistent() -> None:
    """Names are two words, unique by kind, and found again by name and type."""
    assert len({event.type for event in CATALOGUE}) == len(CATALOGUE)
    for event in CATALOGUE:
        assert (event.first, event.second) == tuple(event.name.split("."))
        assert lookup(event.kind, event.name) is event
        assert by_type(event.type) is event
