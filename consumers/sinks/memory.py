"""Notes of sinks, kept in the process: for tests and for sinks that need none to last."""

__all__ = ["ProcessMemory"]


class ProcessMemory:
    """A ``Memory`` that ends with the process."""

    def __init__(self) -> None:
        self._notes: dict[str, bytes] = {}

    async def get(self, key: str) -> bytes | None:
        """The note; None when there is none."""
        return self._notes.get(key)

    async def put(self, key: str, value: bytes, *, keep: float = 0.0) -> None:  # noqa: ARG002 - it ends sooner
        """Keep a note."""
        self._notes[key] = value

    async def claim(self, key: str, value: bytes, *, keep: float = 0.0) -> bytes:  # noqa: ARG002 - it ends sooner
        """The note that stands: this one, when there was none."""
        return self._notes.setdefault(key, value)

    async def delete(self, key: str) -> None:
        """Forget a note; none there is fine."""
        self._notes.pop(key, None)
