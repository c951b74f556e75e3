"""What happens on the demo's stage: a small invented fleet comes, changes and goes."""

import time
from collections.abc import Callable

from kamaji_events.simulator import InventedFleet, Store
from kamaji_events.simulator.history import ChangeKind
from kamaji_events.simulator.version import Version

__all__ = ["ObservedStore", "act"]

_WATCHED = frozenset(("tenantcontrolplanes", "datastores"))
_SEED = 3
_OPERATIONS = 2
_SECONDS = 12.0
"""How long it takes, however many there are."""


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


def _fleet(store: Store, objects: int) -> InventedFleet:
    fleet = InventedFleet(store, seed=_SEED)
    fleet.add(objects, operations=_OPERATIONS)
    return fleet


async def act(store: Store, objects: int) -> None:
    """Let so many control planes live their lives, the last of them gone when this returns."""
    rehearsal = _fleet(Store(), objects)
    await rehearsal.run(None)
    await _fleet(store, objects).run(rehearsal.now / _SECONDS)
