"""Taking apart what task groups raise."""

import asyncio
from contextlib import suppress

import pytest

from kamaji_events.errors import BrokerError, BrokerUnavailable
from kamaji_events.groups import apart, first_of, only


def test_the_known_error_is_found_in_nested_groups() -> None:
    """Tasks in tasks: the first error that tells why is the one."""
    lost = BrokerUnavailable("gone")
    group = ExceptionGroup("outer", [ExceptionGroup("inner", [lost]), BrokerUnavailable("later")])

    assert first_of(group, BrokerError) is lost
    assert first_of(lost, BrokerError) is lost


@pytest.mark.parametrize("fault", [ValueError("ours"), ExceptionGroup("g", [BrokerError("x"), ValueError("ours")])])
def test_a_fault_of_ours_is_never_taken_for_a_known_error(fault: Exception) -> None:
    """A bug beside a lost connection stays visible."""
    with pytest.raises(ValueError, match="ours"):
        first_of(fault, BrokerError)


def test_a_group_of_one_is_its_error() -> None:
    """And a group of several stays a group."""
    one, two = ValueError("1"), ValueError("2")
    several = ExceptionGroup("g", [one, two])

    assert only(ExceptionGroup("g", [ExceptionGroup("h", [one])])) is one
    assert only(several) is several


async def test_a_cancellation_that_a_task_group_swallowed_is_passed_on() -> None:
    """A service that loses its broker in the very moment of SIGTERM ends instead of connecting again."""

    async def fails_while_cancelled() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise BrokerUnavailable("lost meanwhile")

    async def session() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails_while_cancelled())

    async def service() -> None:
        while True:
            with suppress(BaseExceptionGroup):
                await apart(session())

    task = asyncio.create_task(service())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_task_group_that_failed_leaves_no_cancellation_behind() -> None:
    """A service that loses its broker while nobody stops it goes on, however often."""

    async def fails() -> None:
        await asyncio.sleep(0)
        raise BrokerUnavailable("lost")

    async def session() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    for _ in range(3):
        with pytest.raises(ExceptionGroup):
            await apart(session())
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
