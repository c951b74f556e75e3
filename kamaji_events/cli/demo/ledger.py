"""What the demo heard, checked against what the contract promises."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kamaji_events.event import Event

__all__ = ["Ledger", "percentile"]

_ENDS = frozenset(("completed", "cancelled", "superseded"))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of them lie; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass(slots=True)
class Ledger:
    """Everything that arrived, by object and by operation."""

    events: Counter[str] = field(default_factory=Counter)
    """How often each event came."""
    latencies: list[float] = field(default_factory=list)
    """Seconds from the API server's write of the state to the receiver, for events that name one."""
    _counters: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _operations: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _written: dict[tuple[str, str], float] = field(default_factory=dict)

    def wrote(self, uid: str, resource_version: str, at: float) -> None:
        """The API server has this state since ``at``."""
        self._written.setdefault((uid, resource_version), at)

    def heard(self, event: Event, at: float) -> None:
        """The receiver got a new event."""
        self.events[event.name] += 1
        if event.partitionkey and event.sequence:
            self._counters[event.partitionkey].append(int(event.sequence.rpartition("-")[2]))
        if event.operationid:
            self._operations[event.operationid].append(event.name.partition(".")[2])
        written = self._written.get((event.partitionkey or "", _version(event)))
        if written is not None:
            self.latencies.append(at - written)

    @property
    def operations(self) -> int:
        """Operations that were heard of."""
        return len(self._operations)

    def problems(self) -> list[str]:
        """Promises that were not kept; empty when all were."""
        return [*self._gaps(), *self._doubles()]

    def _gaps(self) -> Iterable[str]:
        for key, counters in self._counters.items():
            if sorted(counters) != list(range(1, len(counters) + 1)):
                yield f"object {key}: sequence has a gap or a double: {sorted(counters)}"

    def _doubles(self) -> Iterable[str]:
        for operation, words in self._operations.items():
            if words.count("started") > 1:
                yield f"operation {operation} started {words.count('started')} times"
            if sum(word in _ENDS for word in words) > 1:
                yield f"operation {operation} ended more than once: {', '.join(words)}"


def _version(event: Event) -> str:
    found = event.data.get("object")
    version = found.get("resourceVersion") if isinstance(found, dict) else None
    return version if isinstance(version, str) else ""
