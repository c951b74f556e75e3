"""The file that a recording is written to, in the format ``kamaji-recording/1``.

One JSON object a line: ``at`` (seconds since the start), ``resource``, ``type`` (HEADER, LIST, ADDED, MODIFIED,
DELETED, BOOKMARK, ERROR) and ``object``; gzipped when the name ends with ``.gz``.
"""

import gzip
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import orjson

from kamaji_events.errors import RecordingError

__all__ = ["RecordingWriter"]

_OWNER_ONLY = 0o600


class RecordingWriter:
    """Writes lines while it is open; what was written stays readable however it ends.

    Args:
        path: the file, which must not exist yet.
        clock: seconds, monotonic.
    """

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._start = clock()
        self._file: IO[bytes] | None = None
        self._out: IO[bytes] | gzip.GzipFile | None = None
        self.lines = 0
        """Lines written, the header included."""

    def __enter__(self) -> Self:
        """Create the file.

        Raises:
            RecordingError: it exists, or cannot be written.
        """
        try:
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb")
        except FileExistsError as error:
            raise RecordingError(f"{self._path} exists already: name a new file") from error
        except OSError as error:
            raise RecordingError(f"{self._path} cannot be written: {error.strerror}") from error
        packed = self._path.suffix == ".gz"
        self._out = gzip.GzipFile(fileobj=self._file, mode="wb", mtime=0) if packed else self._file
        self._start = self._clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._out is not None and self._file is not None:
            self._out.close()
            self._file.close()
        self._out = self._file = None

    def write(self, resource: str, kind: str, object_: Mapping[str, Any]) -> None:
        """Add a line.

        Args:
            resource: plural of the object's kind, ``_header`` for the header.
            kind: the line's ``type``.
            object_: the object, list or Status; with nothing in it that must stay secret.

        Raises:
            RecordingError: the disk is full, or the like.
        """
        if self._out is None:
            raise RecordingError(f"{self._path} is not open")
        at = 0.0 if kind == "HEADER" else round(self._clock() - self._start, 3)
        line = orjson.dumps({"at": at, "resource": resource, "type": kind, "object": object_})
        try:
            self._out.write(line + b"\n")
            self._out.flush()
        except OSError as error:
            raise RecordingError(f"{self._path} cannot be written: {error.strerror}") from error
        self.lines += 1
