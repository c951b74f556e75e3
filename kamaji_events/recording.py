"""Recordings of a list+watch client, in the format ``kamaji-recording/1``.

One JSON object a line, plain or gzip: ``at`` (seconds since the start), ``resource``, ``type`` (HEADER, LIST, ADDED,
MODIFIED, DELETED, BOOKMARK, ERROR) and ``object``. They are read as a stream, so a recording may be of any size.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, cast

import msgspec
from msgspec import Raw, Struct

from kamaji_events.errors import RecordingError

__all__ = ["FORMAT", "Header", "RecordedLine", "read_header", "read_lines", "read_recording"]

FORMAT = "kamaji-recording/1"

_TYPES = frozenset({"HEADER", "LIST", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})
_GZIP = b"\x1f\x8b"


class RecordedLine(Struct, frozen=True):
    """One line."""

    at: float
    """Seconds since the recording's start."""
    resource: str
    """The kind's plural, ``_header`` for the header."""
    type: str
    object: Raw = Raw(b"null")
    """The object, or the list, as it was on the wire."""


class Header(Struct, frozen=True):
    """The first line's object."""

    format: str
    startedAt: str  # noqa: N815 - the format's spelling
    kubernetes: str = ""
    kamaji: str = ""

    @property
    def started(self) -> float:
        """When it was recorded, in seconds since 1970."""
        return datetime.fromisoformat(self.startedAt).timestamp()


_LINE = msgspec.json.Decoder(RecordedLine)
_HEADER = msgspec.json.Decoder(Header)


def read_recording(path: str | Path) -> Iterator[RecordedLine]:
    """Read a recording line by line, the header first.

    Raises:
        RecordingError: it cannot be opened, is cut off, or is not in the format; the text names file and line.
    """
    where = str(path)
    try:
        with Path(path).open("rb") as file:
            packed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
            yield from read_lines(stream, where=where)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecordingError(f"{where}: the gzip data is cut off or damaged ({error}): copy the file again") from error
    except OSError as error:
        raise RecordingError(f"{where}: cannot be read: {error.strerror or error}") from error


def read_lines(lines: Iterable[bytes], *, where: str = "recording") -> Iterator[RecordedLine]:
    """Read a recording's lines, the header first.

    Args:
        lines: as they are in the file.
        where: what errors call it.

    Raises:
        RecordingError: a line is not in the format; the text names it.
    """
    number = 0
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        line = _read(raw, f"{where}, line {number}")
        if number == 1:
            read_header(line, f"{where}, line 1")
        yield line
    if not number:
        raise RecordingError(f"{where}: it is empty: a recording begins with a HEADER line of {FORMAT}")


def _read(raw: bytes, where: str) -> RecordedLine:
    try:
        line = _LINE.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RecordingError(f"{where}: not a line of {FORMAT}: {error}") from error
    if line.type not in _TYPES:
        raise RecordingError(f"{where}: the type {line.type[:40]!r} is none of {', '.join(sorted(_TYPES))}")
    return line


def read_header(line: RecordedLine, where: str = "recording, line 1") -> Header:
    """Read the header's line.

    Raises:
        RecordingError: it is no header, or of a format that this release does not read.
    """
    if line.type != "HEADER":
        raise RecordingError(f"{where}: a recording begins with a HEADER line of {FORMAT}, this is {line.type}")
    try:
        header = _HEADER.decode(line.object)
        header.started  # noqa: B018 - a malformed time is refused here, not later
    except (msgspec.DecodeError, ValueError) as error:
        raise RecordingError(f"{where}: the header is not one of {FORMAT}: {error}") from error
    if header.format != FORMAT:
        raise RecordingError(f"{where}: the format is {header.format!r}, this release reads {FORMAT}")
    return header
