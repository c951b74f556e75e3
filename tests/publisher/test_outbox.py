"""The outbox: batches survive leaderships, in order, and what is remembered is not told again."""

import asyncio

from publisher.batch import Batch
from publisher.outbox import Outbox


def batch(name: str) -> Batch:
    """A batch that can be told apart."""
    return Batch((), {name: b""}, {}, {})


async def test_a_third_batch_waits_until_the_first_is_safe() -> None:
    """One batch is on its way and one more is decided: memory is bounded, judging waits for the broker."""
    outbox = Outbox()
    one, two, three = batch("1"), batch("2"), batch("3")
    await outbox.put(one)
    await outbox.put(two)
    waiting = asyncio.create_task(outbox.put(three))
    await asyncio.sleep(0)

    assert not waiting.done()
    assert await outbox.oldest() is one
    await outbox.safe()
    await waiting
    assert await outbox.oldest() is two


async def test_a_batch_that_was_remembered_is_not_committed_again() -> None:
    """The connection broke after the delta was written: the next leadership publishes it from the journal."""
    outbox = Outbox()
    one, two = batch("1"), batch("2")
    await outbox.put(one)
    await outbox.put(two)
    outbox.number = 7

    await outbox.recovered(7)

    assert await outbox.oldest() is two
    assert outbox.number is None


async def test_a_batch_that_was_not_remembered_goes_again() -> None:
    """The connection broke before the delta was written: the same batch is committed by the next term."""
    outbox = Outbox()
    one = batch("1")
    await outbox.put(one)
    outbox.number = 7

    await outbox.recovered(6)

    assert await outbox.oldest() is one


async def test_after_another_leader_nothing_of_the_old_is_kept() -> None:
    """Somebody else will have found the same by itself."""
    outbox = Outbox()
    await outbox.put(batch("1"))
    outbox.clear()

    assert len(outbox) == 0
