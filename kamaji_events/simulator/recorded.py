"""Recordings as lines: read from a file, put in order, written to a file.

The format is ``kamaji-recording/1``: one JSON object a line with ``at`` (seconds since the start), ``resource``,
``type`` (HEADER, LIST, ADDED, MODIFIED, DELETED, BOOKMARK, ERROR) and ``object``.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from kamaji_events.errors import RecordingError

__all__ = ["Line", "read_recording", "write_recording"]


class Line(msgspec.Struct, frozen=True):
    """One line; the object stays bytes until somebody wants it."""

    at: float
    resource: str
    type: str
    object: msgspec.Raw

    def encode(self) -> bytes:
        """As it stands in a file, without the end of the line."""
        return msgspec.json.encode(self)


_line = msgspec.json.Decoder(Line)


def read_recording(path: Path) -> list[Line]:
    """Read a recording, plain or gzipped.

    Raises:
        RecordingError: it is missing or no recording.
    """
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        lines = [_line.decode(line) for line in content.splitlines() if line.strip()]
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error, msgspec.DecodeError) as error:
        raise RecordingError(f"{path} is no recording (kamaji-recording/1): {error}") from error
    return [Line(line.at, line.resource, line.type, line.object.copy()) for line in lines]


def write_recording(path: Path, lines: Iterable[Line]) -> None:
    """Write a recording, gzipped when the name ends with ``.gz``.

    Raises:
        RecordingError: it cannot be written.
    """
    try:
        with gzip.open(path, "wb", compresslevel=3) if path.suffix == ".gz" else path.open("wb") as file:
            file.writelines(_ended(lines))
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error


def _ended(lines: Iterable[Line]) -> Iterator[bytes]:
    for line in lines:
        yield line.encode() + b"\n"
