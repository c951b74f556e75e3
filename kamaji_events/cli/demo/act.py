"""What happens on the demo's stage."""

import time
from collections.abc import Callable
from pathlib import Path

from kamaji_events.simulator import Replay, Store, read_recording
from kamaji_events.simulator.history import ChangeKind
from kamaji_events.simulator.version import Version

__all__ = ["ObservedStore", "act"]

_WATCHED = frozenset(("tenantcontrolplanes", "datastores"))


class ObservedStore(Store):
    """A store that tells when each state of a watched object was written.

    Args:
        wrote: called with uid, resourceVersion and seconds since 1970.
    """

    def __init__(self, wrote: Callable[[str, str, float], None]) -> None:
        super().__init__()
        self._wrote = wrote

    def _apply(self, change: ChangeKind, version: Version, before: Version | None) -> None:
        super()._apply(change, version, before)
        if version.kind.plural in _WATCHED:
            self._wrote(version.meta.uid, version.meta.resource_version, time.time())


async def act(store: Store, _objects: int) -> None:
    """Play a recording."""
    lines = read_recording(Path("tests/data/recordings/lifecycle.jsonl.gz"))
    await Replay.of(store, lines).run(4)
