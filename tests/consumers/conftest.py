"""What the consumers' tests share: one set of delay tiers, declared once, and a stage for each test."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from consumers.topology import House
from tests.support.consumers import Stage, forget_house, new_house, settled_house, stage


@pytest.fixture(scope="session")
def house(rabbit: str) -> Iterator[House]:
    """Exchanges, tiers and board for all tests of the session."""
    made = new_house()
    asyncio.run(settled_house(rabbit, made))
    yield made
    asyncio.run(forget_house(rabbit, made))


@pytest.fixture
async def scene(rabbit: str, house: House, tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage of the test's own."""
    async with stage(rabbit, house, tmp_path) as made:
        yield made
