"""Recordings written to a file, in the format ``kamaji-recording/1`` that ``kamaji_events.recording`` reads."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from kamaji_events.errors import RecordingError
from kamaji_events.recording import RecordedLine

__all__ = ["write_recording"]


def write_recording(path: Path, lines: Iterable[RecordedLine]) -> None:
    """Write a recording, gzipped when the name ends with ``.gz``.

    Raises:
        RecordingError: it cannot be written.
    """
    try:
        with gzip.open(path, "wb", compresslevel=3) if path.suffix == ".gz" else path.open("wb") as file:
            file.writelines(_encoded(lines))
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error


def _encoded(lines: Iterable[RecordedLine]) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for line in lines:
        yield encoder.encode(line) + b"\n"
