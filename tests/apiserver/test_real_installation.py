"""The publisher as it runs for users: a real API server on one side, a real RabbitMQ on the other."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kamaji_events.broker.topology import Layout
from publisher.observation import Resource
from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import Kube
from tests.apiserver.lives import Life
from tests.support.installation import Installation, installation

pytestmark = [pytest.mark.broker, pytest.mark.e2e]


class _Real:
    """The real cluster where an installation expects a simulated one: all that it asks of it is a kubeconfig."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def kubeconfig(self, path: Path) -> Path:
        """A kubeconfig of the administrator."""
        path.write_bytes(self._cluster.kubeconfig().read_bytes())
        return path


@pytest.fixture
async def place(
    cluster: Cluster, kube: Kube, rabbit: str, layout: Layout, tmp_path: Path
) -> AsyncIterator[Installation]:
    """The real cluster, on the shared broker."""
    real: Any = _Real(cluster)
    async with installation(real, rabbit, layout, tmp_path) as made:
        yield made


async def test_a_life_is_told_through_the_death_of_a_leader(place: Installation, kube: Kube) -> None:
    """One replica dies in the middle of an upgrade, another takes over: subscribers hold the whole life, once."""
    life = Life(kube, "acme")
    async with place.replica("a") as first:
        await place.ears.told("a", "sync.completed", len(Resource))
        await life.until("upgrade.started")
        await place.ears.told(life.subject, "upgrade.started")
        await first.kill()
        await life.until("scale.started")
        async with place.replica("b") as second:
            await second.leading()
            expected = await life.finish()
            await place.ears.told(life.subject, "delete.completed")

    told = place.ears.of(life.subject)
    assert [event.name for event in told] == expected
    assert [event.sequence for event in told] == [f"000001-{number:014}" for number in range(1, len(expected) + 1)]
    assert all(event.raw == place.ears.first[event.id].raw for event in place.ears.copies)
