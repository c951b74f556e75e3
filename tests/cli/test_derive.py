"""`derive`, as a user runs it."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.command import ROOT, kamaji_events

_RECORDINGS = ROOT / "tests/data/recordings"


def _lines(*words: str) -> list[str]:
    done = kamaji_events("derive", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_event_is_a_line_of_json_in_order() -> None:
    """What the recording's table expects of each object, twice the same bytes."""
    recording = str(_RECORDINGS / "lifecycle.jsonl.gz")
    expected = json.loads((_RECORDINGS / "lifecycle.expected.json").read_text())

    lines = _lines(recording)

    told: dict[str, list[str]] = defaultdict(list)
    for event in map(json.loads, lines):
        if ".tenantcontrolplane." in event["type"]:
            told[event["subject"]].append(event["type"].partition("tenantcontrolplane.")[2])
    assert {subject: [name for name, _ in rows] for subject, rows in expected["objects"].items()} == told
    assert lines == _lines(recording)


def test_plain_files_and_text_work_too(tmp_path: Path) -> None:
    """The same events from an unpacked recording; lines for people."""
    plain = tmp_path / "recording.jsonl"
    plain.write_bytes(gzip.decompress((_RECORDINGS / "migrate.jsonl.gz").read_bytes()))

    assert _lines(str(plain)) == _lines(str(_RECORDINGS / "migrate.jsonl.gz"))
    assert any("migrate.completed" in line and "tenants/mover" in line for line in _lines(str(plain), "--text"))


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"not json\n", b"\x1f\x8b\x08cut", b'{"at":0,"resource":"x","type":"LIST"}\n']
)
def test_what_is_no_recording_is_told(tmp_path: Path, content: bytes) -> None:
    """Exit code 2, the file is named, no traceback."""
    file = tmp_path / "recording.jsonl"
    file.write_bytes(content)

    done = kamaji_events("derive", str(file))

    assert done.returncode == 2
    assert str(file) in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_recording_that_ends_in_the_middle_tells_what_came_before(tmp_path: Path) -> None:
    """Events up to there, then what is wrong."""
    whole = (_RECORDINGS / "lifecycle.jsonl.gz").read_bytes()
    file = tmp_path / "recording.jsonl.gz"
    file.write_bytes(whole[: len(whole) * 3 // 4])

    done = kamaji_events("derive", str(file))

    assert done.returncode == 2
    assert "upgrade.completed" in done.stdout
    assert str(file) in done.stderr


def test_a_missing_file_and_a_bad_cluster_are_told() -> None:
    """By name."""
    missing = kamaji_events("derive", "/nowhere/recording.jsonl")
    assert (missing.returncode, "/nowhere/recording.jsonl" in missing.stderr) == (2, True)
    cluster = kamaji_events("derive", str(_RECORDINGS / "migrate.jsonl.gz"), "--cluster", "eu.1")
    assert (cluster.returncode, "lower-case" in cluster.stderr) == (2, True)
