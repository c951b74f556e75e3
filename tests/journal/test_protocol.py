"""The protocol, step by step: what a crash exactly there leaves, and what the next leader does.

Each row of the table in docs/journal.md is a case here.
"""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kamaji_events.broker.connection import connect
from kamaji_events.errors import BrokerError
from publisher.journal.term import JournalTerm
from publisher.journal.token import Token
from publisher.memory import Delta
from tests.support.cut_proxy import Proxy
from tests.support.journal import Place, batch, leading, place

pytestmark = pytest.mark.broker

__all__ = ["place"]

SECOND = ["2.0", "2.1", "2.2", "2.3"]


class _KilledError(Exception):
    """The process is gone."""


@dataclass(frozen=True)
class Crash:
    """Die at a call: instead of it, behind it, or in the middle of a batch's events."""

    owner: type
    method: str
    call: int
    when: str

    def arm(self, patch: pytest.MonkeyPatch, proxy: Proxy) -> None:
        """Wait for the call."""
        calls = 0
        original = getattr(self.owner, self.method)

        def die() -> None:
            proxy.cut()
            raise _KilledError

        async def asynchronous(self_: Any, *arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == self.call and self.when == "half":
                await original(self_, arguments[0][: len(arguments[0]) // 2])
                die()
            if calls == self.call and self.when == "before":
                die()
            result = await original(self_, *arguments, **named)
            if calls == self.call:
                die()
            return result

        def plain(self_: Any, tag: int) -> None:
            if self.when == "after":
                original(self_, tag)
            die()

        patch.setattr(self.owner, self.method, plain if self.method == "release_before" else asynchronous)


async def two_batches(term: JournalTerm) -> None:
    """The second one has four events."""
    await term.commit(batch(1))
    await term.commit(batch(2, events=4))


async def noted(term: JournalTerm) -> None:
    """The second batch's end is written down."""
    await two_batches(term)
    await term.note_done()


async def three_batches(term: JournalTerm) -> None:
    """A third follows."""
    await two_batches(term)
    await term.commit(batch(3))


async def rebased(term: JournalTerm) -> None:
    """A base of several parts replaces the batches."""
    big = {f"big-{n}": bytes(800_000) for n in range(2)}
    await term.commit(Delta((*batch(1).messages,), {"a": b"1", **big}, {"tcp": "1"}))
    await term.commit(batch(2, events=4))
    await term._rebase()


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    row: str
    crash: Crash
    work: Callable[[JournalTerm], Awaitable[None]]
    told: list[str]
    """What the exchange has in the end, copies included."""
    number: int = 2
    """The last batch that the next leader remembers."""
    again: bool = False
    """True when the crash hits the second leader, which found the second batch unfinished."""


LEFT = Crash(Token, "append", 5, "after")
"""Leaves the second batch remembered and not published."""

CASES = [
    Case("the delta is not written", Crash(Token, "append", 5, "before"), two_batches, ["1.0", "1.0"], 1),
    Case("the delta is written", LEFT, two_batches, ["1.0", *SECOND]),
    Case(
        "some events are out",
        Crash(JournalTerm, "_publish", 2, "half"),
        two_batches,
        ["1.0", *SECOND[:2], *SECOND],
    ),
    Case("all events are out", Crash(JournalTerm, "_publish", 2, "after"), two_batches, ["1.0", *SECOND, *SECOND]),
    Case("the end is noted", Crash(Token, "append", 6, "after"), noted, ["1.0", *SECOND]),
    Case("the next delta is written", Crash(Token, "append", 6, "after"), three_batches, ["1.0", *SECOND, "3.0"], 3),
    Case("a part of a base is written", Crash(Token, "append", 6, "after"), rebased, ["1.0", *SECOND, *SECOND]),
    Case("a base is written", Crash(Token, "release_before", 1, "before"), rebased, ["1.0", *SECOND]),
    Case("what is older is let go", Crash(Token, "release_before", 1, "after"), rebased, ["1.0", *SECOND]),
    Case("the token is taken", Crash(Token, "read", 1, "after"), two_batches, ["1.0", *SECOND], again=True),
    Case("the term is written", Crash(Token, "append", 3, "after"), two_batches, ["1.0", *SECOND], again=True),
    Case(
        "some events are out again",
        Crash(JournalTerm, "_publish", 1, "half"),
        two_batches,
        ["1.0", *SECOND[:2], *SECOND],
        again=True,
    ),
    Case(
        "all events are out again",
        Crash(JournalTerm, "_publish", 1, "after"),
        two_batches,
        ["1.0", *SECOND, *SECOND],
        again=True,
    ),
]


async def die(place: Place, crash: Crash, work: Callable[[JournalTerm], Awaitable[None]]) -> None:
    """Lead until the crash."""
    async with Proxy.to(place.url) as proxy:
        with pytest.MonkeyPatch.context() as patch, suppress(_KilledError, BrokerError):
            crash.arm(patch, proxy)
            async with connect(proxy.url, name="leader") as broker, place.journal().lead(broker) as term:
                assert isinstance(term, JournalTerm)
                await work(term)
                raise AssertionError("the crash did not come")


@pytest.mark.parametrize("case", CASES, ids=[case.row for case in CASES])
async def test_a_crash_exactly_there(place: Place, case: Case) -> None:
    """Nothing is lost, what is said twice is the same, and the number goes on without a gap."""
    deaths = [(LEFT, two_batches)] if case.again else []
    for crash, work in (*deaths, (case.crash, case.work)):
        await die(place, crash, work)
    async with leading(place) as term:
        assert term.next == case.number + 1
        assert term.recovered.objects["a"] == b"%d" % case.number
        await term.note_done()
    assert await place.told() == case.told
    async with leading(place):
        pass
    assert await place.told() == []


def test_the_documentation_has_the_same_rows() -> None:
    """The table in docs/ and the cases here say the same."""
    text = (Path(__file__).parents[2] / "docs" / "journal.md").read_text()
    rows = re.findall(r"^\| \d+ \| (.+?) \|", text, re.MULTILINE)
    assert rows == [case.row for case in CASES]


def test_messages_of_a_batch_can_be_cut() -> None:
    """The crash in the middle of a batch's events publishes the first half."""
    messages = batch(2, events=4).messages
    assert [message.id for message in messages[:2]] == SECOND[:2]
