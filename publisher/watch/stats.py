"""What a reflector counts, for health and metrics."""

from dataclasses import dataclass

__all__ = ["WatchStats"]


@dataclass(slots=True)
class WatchStats:
    """Counters since the start; plain numbers that whoever exports metrics reads."""

    heard: float | None = None
    """Loop time of the last byte."""
    bytes: int = 0
    """Bytes read from watches and lists."""
    lines: int = 0
    """Watch lines read, bookmarks included."""
    objects: int = 0
    """Objects read from lists."""
    bookmarks: int = 0
    """Bookmarks among the lines."""
    garbage: int = 0
    """Lines and list items that were no object with usable metadata: skipped."""
    broken: int = 0
    """Streams given up because a line was no JSON."""
    syncs: int = 0
    """Lists completed; the first one of a process included."""
    streamed: int = 0
    """How many of ``syncs`` were streaming lists."""
    relists: int = 0
    """Lists begun because something was lost: 410, a kind that came back, versions that went back."""
    compares: int = 0
    """Lists begun only to compare, on the slow schedule."""
    expired: int = 0
    """410 answers, as a status or as an ERROR line."""
    watches: int = 0
    """Watches opened."""
    reconnects: int = 0
    """Watches that ended before their time."""
    silent: int = 0
    """Watches given up because nothing came within the bound."""
    rewound: int = 0
    """Times the server's resourceVersion was found behind the remembered one."""
    failures: int = 0
    """Attempts that ended in an error of any kind."""
