"""Watch lines out of chunks of bytes, each byte copied at most twice however long a line is."""

__all__ = ["MAX_LINE", "LineSplitter", "LineTooLongError"]

MAX_LINE = 16 * 1024 * 1024
"""Bytes of one line at most; etcd keeps objects under 1.5 MB, so beyond this it is no watch line."""


class LineTooLongError(ValueError):
    """A line has no end within the bound: what sends this is no API server."""


class LineSplitter:
    """Cuts a stream of chunks at its newlines.

    Args:
        most: bytes that a line may have.
    """

    def __init__(self, most: int = MAX_LINE) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk and give back the lines that it completes, without their newlines; empty lines are dropped.

        Raises:
            LineTooLongError: a line is longer than allowed; the splitter cannot be used any more.
        """
        head, *rest = chunk.split(b"\n")
        self._keep(head)
        if not rest:
            return []
        lines = [b"".join(self._parts), *rest[:-1]]
        self._parts, self._size = [], 0
        self._keep(rest[-1])
        return [line for line in lines if line and not line.isspace()]

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            raise LineTooLongError(f"a line of more than {self._most} bytes")
        if part:
            self._parts.append(part)

    def rest(self) -> bytes:
        """What came after the last newline: not empty at the end of a stream that was cut inside a line."""
        return b"".join(self._parts)
