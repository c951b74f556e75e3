"""What an operator of the publisher can decide about the diff."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

__all__ = ["DEFAULT_LIMITS", "Policy"]

DEFAULT_LIMITS: Final[Mapping[str, float]] = {
    "create": 600.0,
    "upgrade": 900.0,
    "migrate": 1800.0,
    "scale": 600.0,
    "sleep": 600.0,
    "wake": 600.0,
    "rotation": 600.0,
    "delete": 300.0,
}
"""Seconds that each operation may be open before it counts as stalled."""


class Policy(Struct, frozen=True, kw_only=True):
    """Settings of the diff; the defaults are the contract's."""

    limits: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_LIMITS))
    """Seconds by operation; one that is missing has its default."""
    outage_hold: float = 60.0
    """Seconds of being not ready before ``outage.started``."""
    usage_wait: float = 5.0
    """Seconds to wait for a DataStore to drop a tenant that is gone."""
    annotations: tuple[str, ...] = ()
    """Annotations that events carry in ``data.object``."""
    announce_existing: bool = False
    """Say ``state.discovered`` for each object of the baseline."""

    def limit(self, operation: str) -> float:
        """Seconds that an operation may be open."""
        return self.limits.get(operation, DEFAULT_LIMITS[operation])
