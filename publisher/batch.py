"""A batch: what was concluded together, remembered together and published together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kamaji_events.envelope import Message
from kamaji_events.instance import InstanceEvents
from publisher.lifecycle.decision import Decision
from publisher.memory import Delta

__all__ = ["Batch", "Notice"]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the publisher says about itself."""

    name: str
    """Two words of the catalogue's publisher rows."""
    seconds: float
    details: Mapping[str, Any] = field(default_factory=dict)
    reason: tuple[str, str] | None = None


@dataclass(slots=True)
class Batch:
    """Conclusions that are not told yet, with what they changed in memory.

    Bytes are made once a term: a batch that was never remembered may be told by the next term, in its name.
    """

    said: Sequence[Decision | Notice]
    changed: Mapping[str, bytes | None]
    versions: Mapping[str, str]
    facts: Mapping[str, str]
    _term: int | None = None
    _delta: Delta | None = None

    def delta(self, term: int, render: Callable[[Decision], Message], instance: InstanceEvents) -> Delta:
        """The batch as it is remembered and published in a term."""
        if self._delta is None or self._term != term:
            self._term = term
            self._delta = Delta(
                messages=tuple(_message(item, render, instance) for item in self.said),
                changed=self.changed,
                versions=self.versions,
                facts=self.facts,
            )
        return self._delta


def _message(item: Decision | Notice, render: Callable[[Decision], Message], instance: InstanceEvents) -> Message:
    if isinstance(item, Notice):
        return instance.message(item.name, item.seconds, reason=item.reason, **item.details)
    return render(item)
