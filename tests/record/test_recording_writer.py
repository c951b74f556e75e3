"""The recording's file: readable by whoever reads recordings, whole however it ends."""

import itertools
from pathlib import Path

import pytest

from kamaji_events.errors import RecordingError
from kamaji_events.recording import FORMAT, read_recording
from publisher.recording_writer import RecordingWriter

_HEADER = {"format": FORMAT, "kubernetes": "v1.36.3", "kamaji": "x", "startedAt": "2026-12-01T14:08:07.123Z"}


@pytest.mark.parametrize("name", ["recording.jsonl", "recording.jsonl.gz"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    """Plain or packed by its name; times count from the start, the header's is 0."""
    ticks = itertools.count(100.0, 0.5)
    with RecordingWriter(tmp_path / name, lambda: next(ticks)) as writer:
        writer.write("_header", "HEADER", _HEADER)
        writer.write("datastores", "LIST", {"items": None})
        writer.write("datastores", "BOOKMARK", {"metadata": {"resourceVersion": "5"}})

    lines = list(read_recording(tmp_path / name))
    assert [(line.at, line.resource, line.type) for line in lines] == [
        (0.0, "_header", "HEADER"),
        (0.5, "datastores", "LIST"),
        (1.0, "datastores", "BOOKMARK"),
    ]
    assert (tmp_path / name).stat().st_mode & 0o077 == 0


def test_what_was_written_before_a_crash_is_there(tmp_path: Path) -> None:
    """Each line is flushed: a recorder that is killed leaves what it saw."""
    file = tmp_path / "recording.jsonl"
    with RecordingWriter(file, lambda: 0.0) as writer:
        writer.write("_header", "HEADER", _HEADER)
        assert [line.type for line in read_recording(file)] == ["HEADER"]


def test_unusable_places_are_named(tmp_path: Path) -> None:
    """A file that exists, a folder that does not, and a writer that is closed."""
    there = tmp_path / "there.jsonl"
    there.touch()
    with pytest.raises(RecordingError, match=r"there\.jsonl exists already"), RecordingWriter(there, lambda: 0.0):
        pass
    nowhere = RecordingWriter(tmp_path / "no" / "where.jsonl", lambda: 0.0)
    with pytest.raises(RecordingError, match="No such file or directory"), nowhere:
        pass
    with pytest.raises(RecordingError, match="not open"):
        nowhere.write("datastores", "LIST", {})
