"""Whatever goes wrong, what was observed ends as what is there, and nothing is told twice or out of order."""

import asyncio
import random

import pytest

from publisher.observation import Changed, ChangeType, Resource, SyncEnded, SyncItem, SyncStarted
from publisher.watch.reflector import Reflector
from tests.support.plain_decoder import PlainDecoder, Seen
from tests.support.storm_source import StormSource

pytestmark = pytest.mark.looptime


class Believer:
    """Believes what a reflector says, and checks that it makes sense."""

    def __init__(self, reading: Reflector[Seen]) -> None:
        self._reading = reading
        self._listed: dict[str, int] | None = None
        self.believed: dict[str, int] = {}
        self.changes: list[int] = []
        """Versions of changes since the last list."""
        self.lists = 0

    async def read(self) -> None:
        """Read for ever."""
        async for observation in self._reading:
            match observation:
                case SyncStarted():
                    self._listed = {}
                case SyncItem(_, seen):
                    assert self._listed is not None
                    self._listed[seen.name] = int(seen.version)
                case SyncEnded(_, version):
                    assert self._listed is not None
                    self.believed, self._listed, self.changes = self._listed, None, [int(version)]
                    self.lists += 1
                case Changed(_, change):
                    self._believe(change.type, change.snapshot)

    def _believe(self, kind: ChangeType, seen: Seen | None) -> None:
        if seen is None:
            return
        assert int(seen.version) > self.changes[-1], "told twice or out of order"
        self.changes.append(int(seen.version))
        if kind is ChangeType.DELETED:
            self.believed.pop(seen.name, None)
        else:
            self.believed[seen.name] = int(seen.version)


SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(5, 100))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keep", [1_000_000, 30])
async def test_after_a_storm_what_is_believed_is_what_is_there(seed: int, keep: int) -> None:
    """150 changes amid faults of every kind, then an hour without faults."""
    rng = random.Random(seed)  # noqa: S311 - a seed
    source = StormSource(rng, keep=keep)
    async with Reflector(source, Resource.TENANTCONTROLPLANES, PlainDecoder(), rng=rng) as reading:
        believer = Believer(reading)
        async with asyncio.TaskGroup() as group:
            reader = group.create_task(believer.read())
            await source.live(150)
            source.storming = False
            await asyncio.sleep(3600)
            assert believer.believed == source.objects
            assert reading.problem is None
            assert reading.stuck is None
            assert believer.lists == reading.stats.syncs
            reader.cancel()
