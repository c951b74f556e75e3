"""What a heap of records means, whatever order it comes in and wherever a leader died."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kamaji_events.envelope import Message
from publisher.journal.codec import Kind, Record, parts
from publisher.journal.reading import LOST, read
from publisher.memory import Delta

CHANGES = st.dictionaries(st.sampled_from("abcdef"), st.none() | st.binary(max_size=4), max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["commit", "unconfirmed", "torn", "late"]), CHANGES),
        st.tuples(st.sampled_from(["done", "rebase", "torn base", "takeover"]), st.just({})),
    ),
    max_size=25,
)


@dataclass
class Model:
    """A leader after the other, and what stands in the queue."""

    term: int = 1
    number: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    log: list[Record] = field(default_factory=lambda: [Record(Kind.TERM, 1, 0)])
    told: int = 0
    last: Delta = field(default_factory=Delta)

    def cut(self, kind: Kind, number: int, delta: Delta) -> list[Record]:
        """In parts of a few bytes, so that they can be torn."""
        cut = list(parts(delta, most=1))
        return [
            Record(kind, self.term, number, part, part == len(cut) - 1, payload=payload)
            for part, payload in enumerate(cut)
        ]

    def delta(self, changed: dict[str, bytes | None]) -> Delta:
        """The next batch, with an event that names it."""
        return Delta((Message(f"n{self.number + 1}", b"", "", "", 0),), changed, {"v": str(self.number + 1)})

    def step(self, action: str, changed: dict[str, bytes | None]) -> None:
        """Do as a leader does, or as a crash does."""
        getattr(self, f"_{action.replace(' ', '_')}")(changed)

    def _commit(self, changed: dict[str, bytes | None]) -> None:
        self._unconfirmed(changed)
        self.told = self.number

    def _unconfirmed(self, changed: dict[str, bytes | None]) -> None:
        """Remembered; whether its events went out nobody knows. Only a new leader can follow."""
        self._finish()
        self.last = self.delta(changed)
        self.number += 1
        self.log += self.cut(Kind.DELTA, self.number, self.last)
        self.objects |= {key: value for key, value in changed.items() if value is not None}
        for key in [key for key, value in changed.items() if value is None]:
            self.objects.pop(key, None)

    def _finish(self) -> None:
        """A batch follows only when the one before is out."""
        if self.told < self.number:
            self._takeover({})

    def _torn(self, changed: dict[str, bytes | None]) -> None:
        """A part of a batch is written, then the leader is gone."""
        self._finish()
        self.log += self.cut(Kind.DELTA, self.number + 1, self.delta(changed))[:-1]
        self._takeover({})

    def _late(self, changed: dict[str, bytes | None]) -> None:
        """A batch of the former leader arrives behind its successor's term."""
        self._finish()
        late = self.cut(Kind.DELTA, self.number + 1, self.delta(changed))
        self._takeover({})
        self.log += late

    def _done(self, _: Any) -> None:
        if self.told == self.number:
            self.log.append(Record(Kind.DONE, self.term, self.number))

    def _rebase(self, _: Any) -> None:
        self._finish()
        self.log = self._base()

    def _torn_base(self, _: Any) -> None:
        self._finish()
        self.log += self._base()[:-1]
        self._takeover({})

    def _base(self) -> list[Record]:
        return self.cut(Kind.BASE, self.number, Delta(changed=dict(self.objects), versions={"v": str(self.number)}))

    def _takeover(self, _: Any) -> None:
        """The next leader's term, and the last batch published again."""
        self.term += 1
        self.log.append(Record(Kind.TERM, self.term, self.number))
        self.told = self.number


@given(steps=STEPS, data=st.data())
def test_a_successor_remembers_exactly_what_was_decided(steps: list[tuple[str, Any]], data: st.DataObject) -> None:
    """Wherever leaders died, in any order of arrival, with copies: the state, the number and the term are right."""
    model = Model()
    for action, changed in steps:
        model.step(action, changed)
    copies = data.draw(st.lists(st.sampled_from(model.log), max_size=5))
    found = read(data.draw(st.permutations([*model.log, *copies, Record(Kind.MARKER, writer=9)])))
    assert found.gap is None
    assert (found.term, found.number, dict(found.objects)) == (model.term, model.number, model.objects)
    if model.number:
        assert found.versions["v"] == str(model.number)
    if model.told < model.number:
        assert found.unfinished == model.last
    if found.unfinished is not None:
        assert found.unfinished.messages[0].routing_key == f"n{model.number}"


@given(steps=STEPS, data=st.data())
def test_a_missing_record_is_never_taken_for_the_whole(steps: list[tuple[str, Any]], data: st.DataObject) -> None:
    """Whatever the former leader still holds: a batch of the middle cannot be missing unnoticed."""
    model = Model()
    for action, changed in steps:
        model.step(action, changed)
    numbers = sorted({r.number for r in model.log if r.kind is Kind.DELTA and r.number < model.number})
    base = max((r.number for r in model.log if r.kind is Kind.BASE and r.last), default=0)
    inner = [number for number in numbers if number > base]
    if not inner:
        return
    missing = data.draw(st.sampled_from(inner))
    found = read([r for r in model.log if (r.kind, r.number) != (Kind.DELTA, missing)])
    assert found.gap is not None


def test_nothing_is_empty() -> None:
    """Markers and questions are nothing."""
    assert read([]).empty
    assert read([Record(Kind.MARKER), Record(Kind.QUESTION)]).empty


def test_a_term_behind_batches_that_are_gone_is_a_gap() -> None:
    """The term's record says how many there were."""
    assert "1 to 37" in str(read([Record(Kind.TERM, 5, 37)]).gap)


def test_that_memory_was_lost_is_remembered_until_something_new_is() -> None:
    """A leader that died right after it found the memory lost leaves that to the next one."""
    term = Record(Kind.TERM, 8, 0, payload=Delta(facts={LOST: "why", "epoch": "2"}))
    found = read([term])
    assert (found.lost, found.facts, found.empty) == ("why", {"epoch": "2"}, False)
    found = read([term, Record(Kind.DELTA, 8, 1, payload=Delta(facts={"epoch": "3"}))])
    assert (found.lost, found.facts) == (None, {"epoch": "3"})


def test_done_ends_the_doubt() -> None:
    """With it the last batch is not published again; a base says the same."""
    delta = Record(Kind.DELTA, 1, 1, payload=Delta((Message("k", b"", "", "", 0),)))
    assert read([delta]).unfinished is not None
    assert read([delta, Record(Kind.DONE, 1, 1)]).unfinished is None
    assert read([delta, Record(Kind.BASE, 1, 1)]).unfinished is None
