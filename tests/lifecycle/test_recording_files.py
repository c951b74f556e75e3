"""Recordings as files: plain or gzip, and whatever can be wrong with them."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from kamaji_events.errors import InputError, RecordingError, SettingsError
from kamaji_events.recording import read_lines, read_recording
from publisher.derive import Derivation, derive
from publisher.lifecycle.policy import Policy
from tests.support.recordings import RECORDINGS, expected, told_by_object

_HEADER = {
    "at": 0.0,
    "resource": "_header",
    "type": "HEADER",
    "object": {"format": "kamaji-recording/1", "startedAt": "2026-12-01T14:08:07Z"},
}


def _lines(*lines: object) -> list[bytes]:
    return [orjson.dumps(line) for line in (_HEADER, *lines)]


def test_plain_and_gzip_read_the_same(tmp_path: Path) -> None:
    """Whatever the file is called."""
    packed = RECORDINGS / "migrate.jsonl.gz"
    plain = tmp_path / "recording"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    assert [line.at for line in read_recording(plain)] == [line.at for line in read_recording(packed)]
    assert told_by_object(derive(plain)) == expected("migrate")


def test_lines_can_come_from_anywhere() -> None:
    """Derive takes what a simulator invents."""
    lines = read_recording(RECORDINGS / "lifecycle.jsonl.gz")
    assert told_by_object(derive(lines)) == expected("lifecycle")


def test_a_recording_is_read_as_a_stream(tmp_path: Path) -> None:
    """Its first events are there before its last line is read."""
    whole = list(read_recording(RECORDINGS / "lifecycle.jsonl.gz"))
    taken = 0

    def counting() -> Iterator[object]:
        nonlocal taken
        for line in whole:
            taken += 1
            yield line

    next(derive(counting()))  # type: ignore[arg-type]
    assert 0 < taken < len(whole)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"not json\n", "line 1: not a line"),
        (b'{"at":0,"resource":"secrets","type":"ADDED","object":{}}\n', "line 1: a recording begins with a HEADER"),
        (orjson.dumps({**_HEADER, "object": {"format": "other/9", "startedAt": "x"}}), "line 1: the header"),
        (
            orjson.dumps({**_HEADER, "object": {"format": "kamaji-recording/2", "startedAt": "2026-12-01T14:08:07Z"}}),
            "this release reads kamaji-recording/1",
        ),
        (orjson.dumps(_HEADER) + b'\n{"at":1,"reso', "line 2: not a line"),
        (orjson.dumps(_HEADER) + b'\n{"at":1,"resource":"a","type":"DREAMED"}', "line 2: the type 'DREAMED'"),
        (gzip.compress(orjson.dumps(_HEADER))[:-9], "cut off"),
        (b"\x1f\x8bnonsense", "damaged"),
    ],
)
def test_an_unusable_file_is_named_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    """And the error is the user's, not a traceback."""
    path = tmp_path / "broken.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"broken\.jsonl") as caught:
        list(derive(path))
    assert said in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(RecordingError, match="No such file"):
        list(derive(tmp_path / "missing.jsonl"))


def test_a_folder_is_no_recording(tmp_path: Path) -> None:
    """It says so."""
    with pytest.raises(RecordingError, match="directory"):
        list(derive(tmp_path))


def test_a_cluster_that_cannot_be_used_is_refused() -> None:
    """Before anything is read."""
    with pytest.raises(SettingsError):
        list(derive(RECORDINGS / "migrate.jsonl.gz", cluster="eu.1"))


def test_unreadable_objects_are_counted_and_passed_over() -> None:
    """One without metadata, one without uid, an ERROR line, an unknown resource."""
    derivation = Derivation(Policy())
    lines = _lines(
        {"at": 1, "resource": "tenantcontrolplanes", "type": "LIST", "object": {"items": [{}, {"metadata": None}]}},
        {"at": 2, "resource": "tenantcontrolplanes", "type": "ADDED", "object": {"metadata": {"name": "a"}}},
        {"at": 3, "resource": "tenantcontrolplanes", "type": "ERROR", "object": {"code": 410}},
        {"at": 4, "resource": "dreams", "type": "ADDED", "object": {"metadata": {"name": "a"}}},
        {"at": 5, "resource": "datastores", "type": "ADDED", "object": None},
        {"at": 6, "resource": "secrets", "type": "ADDED", "object": None},
    )
    said = [decision for line in read_lines(lines) for decision in derivation.take(line)]
    assert said == []
    assert derivation.unreadable == 4


def test_events_carry_the_recordings_own_time() -> None:
    """Its virtual clock, or what the object tells."""
    first = next(iter(derive(RECORDINGS / "lifecycle.jsonl.gz")))
    assert orjson.loads(first.body)["time"] == "2026-12-01T14:08:09.000Z"


def test_what_cannot_be_read_is_told_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever derives a damaged recording learns that something was passed over."""
    lines = _lines({"at": 1, "resource": "datastores", "type": "ADDED", "object": None})

    assert list(derive(read_lines(lines))) == []
    assert "1 lines or objects could not be read" in caplog.text
