"""What a heap of records means: pure, so that every crash can be played through in a test.

Records come in any order and more than once: what a leader held and did not acknowledge comes back in another
order, and what was not confirmed in time was sent again. So they are sorted by (term, number, part), never by
arrival.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from publisher.journal.codec import Kind, Record, merge
from publisher.memory import Delta

__all__ = ["LOST", "Memorized", "read"]

LOST = "lost"
"""The fact of a term's record that says why the memory was lost."""

_Place = tuple[int, int]
"""(term, number)."""


@dataclass(frozen=True, slots=True)
class Memorized:
    """What a journal remembers."""

    term: int = 0
    """The greatest term that was begun; 0 for none."""
    number: int = 0
    """The last batch; 0 for none."""
    objects: Mapping[str, bytes] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    unfinished: Delta | None = None
    """The last batch, when nothing says that its events are out."""
    written: int = 0
    """When somebody last knew what there is (wrote a batch, its end or a base), milliseconds since 1970."""
    writer: int = 0
    """Who wrote the newest record that counts."""
    deltas: int = 0
    """Batches behind the base."""
    lost: str | None = None
    """Why the memory was lost, when nothing was remembered since."""
    gap: str | None = None
    """What is missing; the rest then means nothing. None when all is there."""

    @property
    def empty(self) -> bool:
        """True when there is no record of anybody's."""
        return not self.term


def read(records: Iterable[Record]) -> Memorized:
    """Sort records and apply them.

    A term's record, and any base, ends what older terms may say: a batch of an older term with a greater number
    was sent by a leader that no longer was one, and nobody acted on it.
    """
    whole = _whole(records)
    begun = [place for kind, place in whole if kind in (Kind.TERM, Kind.BASE)]
    valid = {
        (kind, place): parts
        for (kind, place), parts in whole.items()
        if not any(term > place[0] and number < place[1] for term, number in begun)
    }
    if not valid:
        return Memorized()
    return _applied(valid)


_Whole = dict[tuple[Kind, _Place], list[Record]]


def _whole(records: Iterable[Record]) -> _Whole:
    """Records of which every part is there, by kind and place; copies are dropped, markers and questions left out."""
    found: defaultdict[tuple[Kind, _Place], dict[int, Record]] = defaultdict(dict)
    for record in records:
        if record.kind not in (Kind.MARKER, Kind.QUESTION):
            found[record.kind, (record.term, record.number)][record.part] = record
    return {where: ordered for where, parts in found.items() if (ordered := _ordered(parts)) is not None}


def _ordered(parts: Mapping[int, Record]) -> list[Record] | None:
    ordered = [parts[part] for part in sorted(parts)]
    complete = ordered[-1].last and ordered[-1].part == len(ordered) - 1
    return ordered if complete else None


def _applied(valid: _Whole) -> Memorized:
    newest = max(valid, key=lambda where: (where[1], where[0]))
    term, number = max(place[0] for _, place in valid), max(place[1] for _, place in valid)
    base = max((place for kind, place in valid if kind is Kind.BASE), default=(0, 0))
    start = merge(record.payload for record in valid.get((Kind.BASE, base), []))
    deltas = {place[1]: parts for (kind, place), parts in sorted(valid.items()) if kind is Kind.DELTA}
    missing = [n for n in range(base[1] + 1, number + 1) if n not in deltas]
    if missing:
        gap = f"batches {missing[0]} to {missing[-1]} of {number} are missing behind a base of {base[1]}"
        return Memorized(term=term, number=number, gap=gap)
    told = merge(merge(record.payload for record in deltas[n]) for n in range(base[1] + 1, number + 1))
    objects = dict(start.changed) | dict(told.changed)
    last = valid[newest][0]
    begun = merge(record.payload for (kind, _), parts in sorted(valid.items()) if kind is Kind.TERM for record in parts)
    facts = dict(begun.facts) if not number else dict(start.facts) | dict(told.facts)
    return Memorized(
        term=term,
        number=number,
        objects={key: memory for key, memory in objects.items() if memory is not None},
        versions=dict(start.versions) | dict(told.versions),
        lost=facts.pop(LOST, None),
        facts=facts,
        unfinished=_unfinished(valid, deltas, base, number),
        written=max((parts[0].written for (kind, _), parts in valid.items() if kind is not Kind.TERM), default=0),
        writer=last.writer,
        deltas=number - base[1],
    )


def _unfinished(valid: _Whole, deltas: Mapping[int, list[Record]], base: _Place, number: int) -> Delta | None:
    done = max((place[1] for kind, place in valid if kind is Kind.DONE), default=0)
    if number <= max(done, base[1]):
        return None
    return merge(record.payload for record in deltas[number])
