"""Bytes of watches and lists: typed when they fit, tolerant when not, refused clearly when nothing can be concluded."""

from typing import Any

import msgspec
import orjson
import pytest

from publisher.lifecycle.facts import Facts
from publisher.lifecycle.merge import merged
from publisher.observation import ChangeType
from publisher.snapshot import DATASTORE_DECODER, TCP_DECODER, TcpSnapshot, UnreadableObjectError
from publisher.snapshot.spec import digest, moved_paths, read_spec
from tests.support.recordings import RECORDINGS
from tests.support.tcp import Tcp


def _line(item: Any, kind: str = "MODIFIED") -> bytes:
    return orjson.dumps({"type": kind, "object": item})


def _facts(item: Any) -> Facts:
    snapshot = TCP_DECODER.line(_line(item)).snapshot
    assert isinstance(snapshot, TcpSnapshot)
    return merged(Facts(), snapshot, ())


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "no JSON"),
        (b"\x00\xff", "no JSON"),
        (b'{"type":"MODIFIED","object":{"metad', "no JSON"),
        (b"[]", "not a watch line"),
        (b'{"type":"MODIFIED"}', "not a watch line"),
        (b'{"type":"MODIFIED","object":null}', "an object is expected"),
        (b'{"type":"MODIFIED","object":"x"}', "an object is expected"),
        (b'{"type":"MODIFIED","object":{}}', "without metadata"),
        (b'{"type":"MODIFIED","object":{"metadata":null}}', "without metadata"),
        (b'{"type":"MODIFIED","object":{"metadata":"x"}}', "without metadata"),
        (b'{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}', "without uid"),
        (b'{"type":"MODIFIED","object":{"metadata":{"name":"a","uid":7,"resourceVersion":"1"}}}', "without uid"),
        (b'{"type":"DREAMED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}}', "unknown type"),
        (b'{"type":"BOOKMARK","object":{"metadata":{}}}', "bookmark"),
        (b'{"type":"MODIFIED","object":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "(?i)recursion|object"),
    ],
)
def test_what_nothing_can_be_concluded_from_is_refused(raw: bytes, said: str) -> None:
    """As a ValueError that says why."""
    with pytest.raises(UnreadableObjectError, match=said) as caught:
        TCP_DECODER.line(raw)
    assert isinstance(caught.value, ValueError)


def test_a_bookmark_only_moves_the_version() -> None:
    """One of them ends a streaming list."""
    change = TCP_DECODER.line(_line({"metadata": {"resourceVersion": "7"}}, "BOOKMARK"))
    assert (change.type, change.resource_version, change.snapshot) == (ChangeType.BOOKMARK, "7", None)
    assert not change.initial_events_end
    annotations = {"k8s.io/initial-events-end": "true"}
    meta = {"metadata": {"resourceVersion": "8", "annotations": annotations}}
    assert TCP_DECODER.line(_line(meta, "BOOKMARK")).initial_events_end


def test_an_error_line_gives_its_status() -> None:
    """Too old, and how long to wait."""
    status = {
        "kind": "Status",
        "status": "Failure",
        "code": 410,
        "reason": "Expired",
        "message": "too old",
        "metadata": {},
    }
    change = TCP_DECODER.line(_line({**status, "details": {"retryAfterSeconds": 3}}, "ERROR"))
    assert change.type is ChangeType.ERROR
    assert change.status is not None
    assert (change.status.code, change.status.reason, change.status.retry_after) == (410, "Expired", 3.0)
    assert TCP_DECODER.line(_line({}, "ERROR")).status is not None
    assert TCP_DECODER.line(_line(None, "ERROR")).status is not None


def test_one_wrong_field_costs_that_field_alone() -> None:
    """Null, a string or a number where an object is expected, words of releases to come."""
    whole = _facts(Tcp().running().object)
    odd = Tcp().running()
    odd.set("status/storage", "gone").set("status/addons", 7).set("metadata/finalizers", {"a": 1})
    odd.set("metadata/labels", {"tier": "gold", "odd": 3})
    read = _facts(odd.object)
    assert (read.word, read.version, read.ready, read.endpoint) == (
        whole.word,
        whole.version,
        whole.ready,
        whole.endpoint,
    )
    assert read.labels == {"tier": "gold"}
    assert read.store == ""


def test_numbers_of_the_wrong_type_are_absent_ones() -> None:
    """Inside a present block an absent number is 0; absent wanted replicas are 2."""
    tcp = Tcp().running().set("status/kubernetesResources/deployment/readyReplicas", "2")
    tcp.set("spec/controlPlane/deployment/replicas", "3")
    read = _facts(tcp.object)
    assert (read.ready, read.wanted) == (0, 2)


def test_the_tolerant_reading_reads_what_the_typed_one_does() -> None:
    """Of what fits, both make the same."""
    tcp = Tcp().running()
    typed = _facts(tcp.object)
    tolerant = _facts({**tcp.object, "apiVersion": 7})
    assert tolerant == typed


def test_a_page_counts_what_is_broken() -> None:
    """Items may be null; broken ones are counted, the rest is read."""
    page = TCP_DECODER.page(orjson.dumps({"metadata": {"resourceVersion": "9", "continue": "next"}, "items": None}))
    assert (page.items, page.resource_version, page.next, page.broken) == ([], "9", "next", 0)
    items = [Tcp().object, {}, None, 7, {"metadata": {"name": "a"}}, Tcp("other").object]
    page = TCP_DECODER.page(orjson.dumps({"metadata": {"resourceVersion": "9"}, "items": items}))
    assert [item.metadata.name for item in page.items if item.metadata] == ["acme", "other"]
    assert (page.next, page.broken) == ("", 4)


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"items":7}', b'{"items":[{'])
def test_what_is_no_list_is_refused(raw: bytes) -> None:
    """Clearly."""
    with pytest.raises(UnreadableObjectError):
        DATASTORE_DECODER.page(raw)


def test_a_large_object_is_read() -> None:
    """1.4 MB, most of it in an annotation."""
    tcp = Tcp().running().set("metadata/annotations", {"big": "x" * 1_400_000})
    change = TCP_DECODER.line(_line(tcp.object))
    assert change.size > 1_400_000
    assert change.snapshot is not None


def _digest(spec: Any) -> Any:
    return digest(msgspec.Raw(orjson.dumps(spec)))


@pytest.mark.parametrize("spec", [{}, None, {"a": {}}, {"a": {"b": None, "c": [], "d": {"e": {}}}}])
def test_what_is_empty_equals_what_is_absent(spec: Any) -> None:
    """However deep."""
    assert _digest(spec) == _digest({})


def test_moved_paths_are_those_added_changed_and_removed() -> None:
    """Lists are one leaf; the order of keys is none."""
    before = _digest({"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": {"y": 1, "z": 2}})
    after = _digest({"e": {"z": 2, "y": 1}, "b": {"c": [2, 1], "f": False}, "a": 1})
    assert moved_paths(before, after) == ["b.c", "b.d", "b.f"]
    assert moved_paths(after, after) == []


def test_a_spec_too_deep_to_read_is_one_leaf() -> None:
    """It says nothing of versions, and that it moved is still seen."""
    deep, deeper = (msgspec.Raw(b'{"a":' * size + b"1" + b"}" * size) for size in (5000, 5001))
    assert moved_paths(digest(deep), digest(deep)) == []
    assert moved_paths(digest(deep), digest(deeper)) == ["*"]
    assert read_spec(deep) is None


def test_digests_of_one_shape_share_their_paths() -> None:
    """Ten thousand objects of one shape keep one tuple, also when they come out of a journal."""
    one, other = _digest({"a": 1, "b": 2}), _digest({"a": 3, "b": 4})
    assert one.paths is other.paths
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(one), type=type(one)).paths is one.paths


def test_lines_of_a_recording_need_no_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the real operator writes fits the types: the fast way is the usual one."""
    from kamaji_events.recording import read_recording  # noqa: PLC0415
    from publisher.snapshot import decode  # noqa: PLC0415

    def refuse(*_: Any) -> None:
        raise AssertionError("read tolerantly")

    monkeypatch.setattr(decode, "lenient", refuse)
    for line in read_recording(RECORDINGS / "rotation.jsonl.gz"):
        if line.resource == "tenantcontrolplanes" and line.type in ("ADDED", "MODIFIED", "DELETED"):
            TCP_DECODER.item(line.object)
