"""One object at one moment: what was known, what is known now, and the one who tells."""

from dataclasses import dataclass, field

from publisher.lifecycle.facts import Facts
from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.teller import Teller

__all__ = ["Moment"]


@dataclass(slots=True)
class Moment:
    """What every judgement of one change needs."""

    memory: TcpMemory
    old: Facts
    """Before the change."""
    new: Facts
    """After it; ``memory.facts`` already is this."""
    teller: Teller
    policy: Policy
    paths: list[str] = field(default_factory=list)
    """Paths of spec that moved, from below ``spec``."""
    first: bool = False
    """The object is seen for the first time."""
    was_created: bool = False
    """Its creation had completed before this change."""
    was_limited: bool = False
    """``writes.limited`` had been told before this change."""
    creation_ends: bool = False
    """Its creation completes with this change."""
    presumed: bool = False
    """Its status has a version, so it was ready at some time that nobody saw."""
    moved_certificates: list[str] = field(default_factory=list)
    """Certificates whose checksum is another one now."""
    moved_authority: bool = False
    """The CA's checksum is another one now and does not loop."""
    rotating: bool = False
    """A CA rotation was or is open at this change."""
    migrating: bool = False
    """A migration was or is open at this change."""

    @property
    def reconstructed(self) -> bool:
        """The change happened while nobody watched."""
        return self.teller.reconstructed
