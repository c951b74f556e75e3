"""The simulator behaves as an API server does."""

from collections.abc import AsyncIterator

import httpx
import pytest

from kamaji_events.simulator import Simulator
from tests.behaviour.server import ApiServer
from tests.behaviour.suite import DiscoveryBehaviour, ListBehaviour, WatchBehaviour, WriteBehaviour


class TestSimulated(DiscoveryBehaviour, ListBehaviour, WatchBehaviour, WriteBehaviour):
    """Every case of the suite."""

    @pytest.fixture
    async def api(self) -> AsyncIterator[ApiServer]:
        """A simulator."""
        async with (
            Simulator(token="good") as simulator,
            httpx.AsyncClient(base_url=simulator.url, headers={"Authorization": "Bearer good"}) as client,
            httpx.AsyncClient(base_url=simulator.url, headers={"Authorization": "Bearer bad"}) as stranger,
        ):

            async def compact() -> None:
                simulator.store.compact()

            api = ApiServer(client, stranger, compact)
            await api.begin()
            yield api
