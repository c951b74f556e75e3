"""The buffer of changes: bounded in bytes, never pausing a watch, never silent about what it dropped."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.buffer import ChangeBuffer
from publisher.observation import Change, Changed, ChangeType, Resource, SyncEnded, SyncItem, SyncStarted

TCPS = Resource.TENANTCONTROLPLANES


def change(size: int = 1000, version: str = "1") -> Changed[None]:
    """A change whose line had so many bytes."""
    return Changed(TCPS, Change(ChangeType.MODIFIED, version, size=size))


async def test_items_come_out_in_the_order_in_which_they_went_in() -> None:
    """Nothing is reordered, and taking some leaves the rest."""
    buffer = ChangeBuffer(100_000)
    items = [change(version=str(n)) for n in range(5)]
    for item in items:
        await buffer.put(item)

    assert buffer.take(3) + buffer.take(9) == items
    assert (len(buffer), buffer.bytes) == (0, 0)


async def test_past_the_bound_everything_is_dropped_and_told_once() -> None:
    """A change never waits: what cannot be held is dropped whole, and the owner is told."""
    buffer = ChangeBuffer(2500)
    for _ in range(3):
        await buffer.put(change())

    assert buffer.overflowed.is_set()
    assert (len(buffer), buffer.bytes) == (0, 0)
    await buffer.put(change())
    assert len(buffer) == 0, "what comes before the watches begin anew has holes before it"
    await asyncio.wait_for(buffer.wait(None), 1)
    buffer.clear()
    await buffer.put(change())
    assert (len(buffer), buffer.overflowed.is_set()) == (1, False)


async def test_one_change_larger_than_the_bound_still_passes() -> None:
    """An object of any size is judged, alone."""
    buffer = ChangeBuffer(1000)
    await buffer.put(change(5000))

    assert len(buffer.take(1)) == 1


async def test_a_list_waits_for_room_instead_of_overflowing() -> None:
    """A list can be read as slowly as it must; its items are never dropped for their number."""
    buffer = ChangeBuffer(1024)
    for item in (SyncStarted(TCPS), SyncItem(TCPS, None)):
        await buffer.put(item)
    waiting = asyncio.create_task(buffer.put(SyncEnded(TCPS, "7")))
    await asyncio.sleep(0)

    assert not waiting.done()
    buffer.take(1)
    await waiting
    assert not buffer.overflowed.is_set()
    assert len(buffer) == 2


async def test_a_list_that_waits_is_let_go_when_the_watches_begin_anew() -> None:
    """Nobody hangs at a buffer that was emptied."""
    buffer = ChangeBuffer(512)
    await buffer.put(SyncStarted(TCPS))
    waiting = asyncio.create_task(buffer.put(SyncItem(TCPS, None)))
    await asyncio.sleep(0)
    buffer.clear()

    await waiting


@pytest.mark.parametrize("timeout", [0.0, 0.01])
async def test_waiting_ends_by_itself(timeout: float) -> None:  # noqa: ASYNC109 - the buffer's own parameter
    """A deadline ends the wait although nothing came."""
    await ChangeBuffer(1000).wait(timeout)


@given(st.lists(st.one_of(st.integers(1, 3000), st.none()), max_size=60))
def test_the_bytes_held_are_those_of_what_is_held(steps: list[int | None]) -> None:
    """Whatever is put and taken, the count is right and within the bound, but for one that is larger alone."""

    async def play() -> None:
        buffer = ChangeBuffer(4000)
        for step in steps:
            if step is None:
                buffer.take(1)
            else:
                await buffer.put(change(step))
            assert buffer.bytes <= 4000
            assert (buffer.bytes == 0) == (len(buffer) == 0)

    asyncio.run(play())
