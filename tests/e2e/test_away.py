"""A publisher that was away: what the next one says of what happened meanwhile, through a real broker."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kamaji_events.broker.topology import Layout
from kamaji_events.simulator import Simulator, Store
from tests.support.installation import Ears, Installation, installation
from tests.support.inventing import Invented, furnish

pytestmark = [pytest.mark.broker, pytest.mark.e2e]

UPGRADED = ["upgrade.requested", "upgrade.started", "upgrade.completed"]
DELETED = ["delete.started", "delete.finalized", "delete.completed"]


@pytest.fixture
async def place(rabbit: str, layout: Layout, tmp_path: Path) -> AsyncIterator[Installation]:
    """A cluster with DataStores, on the shared broker."""
    async with Simulator(furnish(Store())) as sim, installation(sim, rabbit, layout, tmp_path) as made:
        yield made


class Absence:
    """What happens while nobody watches: one is created, one upgraded, one deleted, one deleted and created again."""

    def __init__(self, store: Store) -> None:
        self.new, self.upgraded, self.gone, self.again, self.quiet = (
            Invented(store, name) for name in ("new", "upgraded", "gone", "again", "quiet")
        )

    def before(self) -> None:
        """Those that are there already."""
        for each in (self.upgraded, self.gone, self.again, self.quiet):
            each.create()

    async def heard_before(self, ears: Ears) -> None:
        """Wait until all of that was told."""
        for each in (self.upgraded, self.gone, self.again, self.quiet):
            await ears.told(each.subject, "bootstrap.completed")
            await ears.told(each.subject, "addons.changed", 2)

    def during(self) -> None:
        """What happens."""
        self.new.create()
        self.upgraded.upgrade("v1.35.0")
        self.gone.delete()
        self.again.delete()
        self.again.create()


async def test_a_killed_publisher_resumes(place: Installation) -> None:
    """With the API server's history kept everything is told as if nobody had been away, and nothing twice."""
    ears, absence = place.ears, Absence(place.sim.store)
    async with place.replica("first") as first:
        await first.leading()
        await ears.synced("first")
        absence.before()
        await absence.heard_before(ears)
        await first.kill()
    known = set(ears.first)
    absence.during()
    async with place.replica("second"):
        await ears.told(absence.again.subject, "addons.changed", 4)
        await ears.told(absence.gone.subject, "delete.completed")
        await ears.told(absence.new.subject, "addons.changed", 2)
        await ears.told(absence.upgraded.subject, "upgrade.completed")
    news = [event for event in ears.tenants() if event.id not in known]
    assert not any(event.data["reconstructed"] for event in news)
    assert "sync.completed" not in ears.names("second")
    assert ears.names(absence.quiet.subject) == ears.names(absence.upgraded.subject)[: -len(UPGRADED)]
    assert ears.names(absence.gone.subject)[-3:] == DELETED
    ears.check()


async def test_away_too_long(place: Installation) -> None:
    """With 410 states are compared: exactly what can be concluded is told, as reconstructed, and nothing twice."""
    ears, absence = place.ears, Absence(place.sim.store)
    async with place.replica("first") as first:
        await first.leading()
        await ears.synced("first")
        absence.before()
        await absence.heard_before(ears)
        await first.kill()
    known = set(ears.first)
    absence.during()
    place.sim.store.compact()
    async with place.replica("second"):
        await ears.synced("second")
        for each in (absence.gone, absence.again):
            await ears.told(each.subject, "delete.completed")
    news = {name: [e for e in ears.of(f"tenants/{name}") if e.id not in known] for name in ("new", "upgraded", "gone")}
    assert [event.name for event in news["upgraded"]] == UPGRADED
    assert [event.name for event in news["gone"]] == DELETED
    assert {"create.started", "create.completed", "state.ready"} <= {event.name for event in news["new"]}
    assert len({event.partitionkey for event in ears.of(absence.again.subject)}) == 2
    concluded = [event for events in news.values() for event in events if event.name != "delete.completed"]
    assert all(event.data["reconstructed"] for event in concluded)
    assert not [event for event in ears.of(absence.quiet.subject) if event.id not in known]
    ears.check()
