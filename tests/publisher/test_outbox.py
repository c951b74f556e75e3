"""The outbox: batches survive leaderships, in order, and what is remembered is not told again."""

import asyncio

import pytest

from publisher.batch import Batch
from publisher.outbox import Outbox


def batch(name: str) -> Batch:
    """A batch that can be told apart."""
    return Batch((), {name: b""}, {}, {})


def _held(outbox: Outbox) -> tuple[int, int | None]:
    """How many batches, and the number of the oldest while it is on its way."""
    return len(outbox), outbox.number


async def test_a_third_batch_is_not_decided_until_the_first_is_safe() -> None:
    """One batch is on its way and one more is decided: memory is bounded, judging waits for the broker."""
    outbox = Outbox()
    one, two = batch("1"), batch("2")
    outbox.put(one)
    await outbox.room()
    outbox.put(two)
    waiting = asyncio.create_task(outbox.room())
    await asyncio.sleep(0)

    assert not waiting.done()
    assert await outbox.oldest() is one
    outbox.safe()
    await waiting
    assert await outbox.oldest() is two


async def test_whoever_commits_waits_for_a_batch() -> None:
    """An empty outbox has no oldest batch."""
    outbox = Outbox()
    one = batch("1")
    waiting = asyncio.create_task(outbox.oldest())
    await asyncio.sleep(0)

    assert not waiting.done()
    outbox.put(one)
    assert await waiting is one


async def test_a_batch_that_was_remembered_is_not_committed_again() -> None:
    """The connection broke after the delta was written: the next leadership publishes it from the journal."""
    outbox = Outbox()
    one, two = batch("1"), batch("2")
    outbox.put(one)
    outbox.put(two)
    outbox.number = 7

    outbox.recovered(7)

    assert await outbox.oldest() is two
    assert outbox.number is None


async def test_a_batch_that_was_not_remembered_goes_again() -> None:
    """The connection broke before the delta was written: the same batch is committed by the next term."""
    outbox = Outbox()
    one = batch("1")
    outbox.put(one)
    outbox.number = 7

    outbox.recovered(6)

    assert await outbox.oldest() is one


async def test_after_another_leader_nothing_of_the_old_is_kept() -> None:
    """Somebody else will have found the same by itself; there is room again at once."""
    outbox = Outbox()
    outbox.put(batch("1"))
    outbox.put(batch("2"))
    outbox.clear()

    assert len(outbox) == 0
    await outbox.room()


async def test_an_empty_outbox_has_room_and_nothing_to_recover() -> None:
    """The first leadership of a process finds what another one remembered."""
    outbox = Outbox()
    await asyncio.wait_for(outbox.room(), 1)
    assert outbox.number is None

    outbox.recovered(7)

    assert _held(outbox) == (0, None)


@pytest.mark.parametrize("end", ["safe", "recovered", "clear"])
async def test_what_was_on_its_way_is_forgotten_with_its_leadership(end: str) -> None:
    """The next batch has another number; an older delta at the end of what is remembered says nothing of it."""
    outbox = Outbox()
    outbox.put(batch("1"))
    outbox.number = 7

    if end == "safe":
        outbox.safe()
    elif end == "recovered":
        outbox.recovered(6)
    else:
        outbox.clear()

    assert _held(outbox) == (1 if end == "recovered" else 0, None)


async def test_a_number_without_a_batch_is_nothing_to_forget() -> None:
    """Whoever led meanwhile made the outbox empty."""
    outbox = Outbox()
    outbox.number = 7

    outbox.recovered(7)

    assert _held(outbox) == (0, None)
