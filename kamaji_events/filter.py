"""Which events a subscription wants: as much as a routing key can say goes into bindings, the rest is judged.

Patterns are words: ``upgrade.*``, ``*.completed``, ``state.ready``, ``datastore.state.*``, a full CloudEvents type,
or ``*`` for everything. A ``*`` may also stand inside a word (``up*.started``). Namespaces and clusters take the
same wildcard. The label selector is Kubernetes' own language (``tier=gold,env in (prod,stage),!test``).
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product

from kamaji_events.catalogue import CATALOGUE, TYPE_PREFIX, Kind
from kamaji_events.errors import FilterError
from kamaji_events.event import Event
from kamaji_events.routing import word
from kamaji_events.selector import Selector

__all__ = ["Filter", "event_keys"]

_MOST_BINDINGS = 500
"""Beyond this many bindings one dimension after the other is judged by the reader instead."""


def _three_words(pattern: str) -> str:
    """Normalise an event pattern to ``kind.first.second``; ``*`` alone and a bare kind mean all of it."""
    text = pattern.removeprefix(f"{TYPE_PREFIX}.")
    words = text.split(".")
    if text in ("*", "#", "**"):
        return "*.*.*"
    if len(words) == 1 and text in set(Kind):
        return f"{text}.*.*"
    if len(words) == 2:  # noqa: PLR2004 - kind left open, or a kind with everything of it
        return f"{text}.*" if words[0] in set(Kind) and words[1] == "*" else f"*.{text}"
    if len(words) == 3 and all(words):  # noqa: PLR2004
        return text
    raise FilterError(
        f"event pattern {pattern!r}: write two words such as 'upgrade.*', or three with the kind before them"
    )


def event_keys(pattern: str) -> frozenset[str]:
    """The catalogue's events, as ``kind.first.second``, that a pattern means.

    Raises:
        FilterError: it means none; near names are offered.
    """
    wanted = _three_words(pattern)
    matching = frozenset(key for event in CATALOGUE if _words_match((key := f"{event.kind}.{event.name}"), wanted))
    if matching:
        return matching
    near = difflib.get_close_matches(pattern, [event.name for event in CATALOGUE], n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(map(repr, near))}?" if near else "; see the event reference in docs/events.md"
    raise FilterError(f"event pattern {pattern!r} matches no event of the catalogue{hint}")


def _words_match(key: str, pattern: str) -> bool:
    pairs = zip(key.split("."), pattern.split("."), strict=True)
    return all(fnmatchcase(part, wanted) for part, wanted in pairs)


def _bindable(pattern: str) -> bool:
    """A pattern that a topic binding understands: whole words or ``*``."""
    return all(part == "*" or "*" not in part for part in _three_words(pattern).split("."))


def _one_word(patterns: Sequence[str]) -> tuple[str, ...]:
    """Words for one place of a key: ``*`` as soon as one pattern has a wildcard inside a word."""
    if not patterns or any("*" in pattern for pattern in patterns):
        return ("*",)
    return tuple(dict.fromkeys(word(pattern) for pattern in patterns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A subscription's filter; an empty part means everything.

    Events unknown to this release pass when a pattern names them by wildcard, so that a newer publisher's events
    reach an older subscriber that asked for everything.

    Raises:
        FilterError: a pattern is malformed or matches nothing in the catalogue.
    """

    events: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    labels: str = ""

    def __post_init__(self) -> None:
        for pattern in self.events:
            event_keys(pattern)
        for part, patterns in (("cluster", self.clusters), ("namespace", self.namespaces)):
            for pattern in patterns:
                if not pattern or "." in pattern or "#" in pattern:
                    raise FilterError(f"{part} pattern {pattern!r}: write a name, '*' may stand for any part of it")
        Selector.parse(self.labels)

    def bindings(self) -> tuple[str, ...]:
        """Binding keys for the topic exchange: every event that ``matches`` comes through one of them."""
        events = self._event_words()
        clusters, namespaces = _one_word(self.clusters), _one_word(self.namespaces)
        if len(events) * len(clusters) * len(namespaces) > _MOST_BINDINGS:
            namespaces = ("*",)
        if len(events) * len(clusters) > _MOST_BINDINGS:
            clusters = ("*",)
        return tuple(".".join((*parts, "*")) for parts in product(events, clusters, namespaces))

    def _event_words(self) -> tuple[str, ...]:
        words: dict[str, None] = {}
        for pattern in self.events or ("*",):
            names = (_three_words(pattern),) if _bindable(pattern) else sorted(event_keys(pattern))
            words.update(dict.fromkeys(names))
        return tuple(words)

    def matches(self, event: Event) -> bool:
        """True when the event is wanted: judged in full, whatever the bindings let through."""
        return (
            self._event_matches(event)
            and _any(self.clusters, event.cluster)
            and _any(self.namespaces, event.namespace)
            and self._labels_match(event.labels)
        )

    def _event_matches(self, event: Event) -> bool:
        key = f"{event.kind}.{event.name}"
        if key.count(".") != 2:  # noqa: PLR2004 - a foreign event has not three words
            return not self.events or "*" in self.events
        return not self.events or any(_words_match(key, _three_words(pattern)) for pattern in self.events)

    def _labels_match(self, labels: Mapping[str, str]) -> bool:
        return not self.labels or Selector.parse(self.labels).matches(labels)


def _any(patterns: Sequence[str], text: str | None) -> bool:
    return not patterns or any(fnmatchcase(text or "", pattern) for pattern in patterns)
