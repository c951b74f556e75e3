"""A running simulator and a client of it."""

from collections.abc import AsyncIterator

import httpx
import pytest

from kamaji_events.simulator import Simulator


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    """A simulator that asks for a token."""
    async with Simulator(token="good") as running:
        yield running


@pytest.fixture
async def client(simulator: Simulator) -> AsyncIterator[httpx.AsyncClient]:
    """A client with that token."""
    headers = {"Authorization": "Bearer good"}
    async with httpx.AsyncClient(base_url=simulator.url, headers=headers, timeout=10) as opened:
        yield opened
