"""What both kinds' keepers share."""

from dataclasses import dataclass, field

from publisher.lifecycle.memory import ObjectMemory
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.surroundings import Surroundings

__all__ = ["Context"]


@dataclass(slots=True)
class Context:
    """One fleet's settings, indexes and list of changes."""

    policy: Policy
    epoch: int
    around: Surroundings = field(default_factory=Surroundings)
    changed: dict[str, ObjectMemory | None] = field(default_factory=dict)
    """Memories that changed since they were last asked for; None for one that is forgotten."""
