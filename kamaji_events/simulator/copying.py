"""How the copies of a multiplied recording are made: names, uids, beginnings, and the DataStores that they share."""

import random
import uuid
from dataclasses import dataclass, field

import orjson

from kamaji_events.simulator.lives import Life
from kamaji_events.simulator.version import Object

__all__ = ["Copy", "Plan", "SharedStore"]


@dataclass
class Plan:
    """How copies are made."""

    n: int
    seed: int
    spread: float
    namespaces: int
    per_store: int

    def number(self, copy: int) -> str:
        """What a copy's name ends with."""
        return f"{copy:0{len(str(self.n - 1))}}"

    def group(self, copy: int) -> int:
        """Which DataStores it uses."""
        return copy // self.per_store

    def store(self, name: str, group: int) -> str:
        """A DataStore's name in a group."""
        return f"{name}-{group}" if self.n > self.per_store else name

    def uid(self, *what: str | int) -> str:
        """The uid of something."""
        return str(uuid.UUID(int=random.Random("/".join(map(str, (self.seed, *what)))).getrandbits(128), version=4))

    def offset(self, copy: int) -> float:
        """Seconds by which a copy begins later than recorded."""
        return random.Random(f"{self.seed}/offset/{copy}").uniform(0.0, self.spread)


@dataclass
class Copy:
    """One life as one control plane lives it."""

    plan: Plan
    number: int
    life: Life
    offset: float = 0.0
    """Seconds by which it begins later than recorded."""
    values: list[bytes] = field(default_factory=list)
    """What goes into the holes of its templates."""

    def __post_init__(self) -> None:
        self.offset = self.plan.offset(self.number)
        self.values = [b"", *(self._value(kind, word).encode() for kind, word in self.life.vocabulary.words)]

    def _value(self, kind: str, word: str) -> str:
        match kind:
            case "name":
                return f"{word}-{self.plan.number(self.number)}"
            case "namespace":
                return f"{word}-{self.number % self.plan.namespaces}" if self.plan.namespaces else word
            case "store":
                return self.plan.store(word, self.plan.group(self.number))
        return self.plan.uid(self.number, word)

    @property
    def subject(self) -> str:
        """As ``usedBy`` names it."""
        return f"{self.values[2].decode()}/{self.values[1].decode()}"


@dataclass
class SharedStore:
    """A DataStore that the copies of one group share."""

    plan: Plan
    name: str
    group: int
    content: Object | None = None
    """It without its users; None while it does not exist."""
    users: set[str] = field(default_factory=set)
    """Subjects of the copies that use it."""

    def show(self, version: int) -> bytes:
        """It with its users as of a resourceVersion."""
        content = self.content or {}
        metadata = {
            **content["metadata"],
            "name": self.plan.store(self.name, self.group),
            "resourceVersion": str(version),
        }
        metadata["uid"] = self.plan.uid("store", self.group, metadata.get("uid", self.name))
        status = dict(content.get("status") or {})
        if self.users:
            status["usedBy"] = sorted(self.users)
        return orjson.dumps({**content, "metadata": metadata} | ({"status": status} if status else {}))
