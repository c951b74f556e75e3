"""The publisher's own reflector on the simulator: whatever goes wrong, it ends up knowing what is there."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kamaji_events.simulator import InventedFleet, Simulator, Store
from publisher.observation import Changed, ChangeType, Resource, SyncEnded, SyncItem, SyncStarted
from publisher.watch.api import Api
from publisher.watch.credentials import find_credentials
from publisher.watch.policy import WatchPolicy
from publisher.watch.reflector import Reflector
from tests.support.plain_decoder import PlainDecoder, Seen

TCPS = "tenantcontrolplanes"
POLICY = WatchPolicy(backoff_base=0.01, backoff_most=0.05, missing_most=0.05, silence=0.5, list_silence=0.5)


class Known:
    """What a reflector's reader knows."""

    def __init__(self, reflector: Reflector[Seen], store: Store) -> None:
        self.reflector = reflector
        self.objects: dict[str, str] = {}
        self.syncs = 0
        self._store = store
        self._listed: set[str] = set()
        self._moved = asyncio.Event()

    async def read(self) -> None:
        """Take everything in."""
        async for observation in self.reflector:
            match observation:
                case SyncStarted():
                    self._listed = set()
                case SyncItem(snapshot=seen):
                    self._listed.add(seen.name)
                    self.objects[seen.name] = seen.version
                case SyncEnded():
                    self.syncs += 1
                    self.objects = {name: self.objects[name] for name in self._listed}
                case Changed(change=change) if change.snapshot is not None:
                    self._take(change.type, change.snapshot)
            self._moved.set()

    def _take(self, kind: ChangeType, seen: Seen) -> None:
        if kind is ChangeType.DELETED:
            self.objects.pop(seen.name, None)
        else:
            self.objects[seen.name] = seen.version

    async def knows_all(self) -> None:
        """Wait until it knows exactly what is in the store."""
        while self.objects != self._there():
            self._moved.clear()
            await self._moved.wait()

    def _there(self) -> dict[str, str]:
        versions = self._store.state(TCPS).values()
        return {version.meta.name: version.meta.resource_version for version in versions}


@asynccontextmanager
async def knowing(simulator: Simulator, folder: Path) -> AsyncIterator[Known]:
    """A reflector at work."""
    kubeconfig = simulator.kubeconfig(folder / "kubeconfig")
    async with (
        Api(find_credentials(kubeconfig)) as api,
        Reflector(api, Resource.TENANTCONTROLPLANES, PlainDecoder(), policy=POLICY) as reflector,
        asyncio.TaskGroup() as group,
    ):
        known = Known(reflector, simulator.store)
        task = group.create_task(known.read())
        yield known
        task.cancel()


async def _frozen(simulator: Simulator) -> None:
    simulator.faults.freeze()
    await asyncio.sleep(0)
    await simulator.faults.cut()
    simulator.faults.thaw()


async def _restarted(simulator: Simulator) -> None:
    await simulator.go_down()
    await simulator.come_up()


async def _compacted(simulator: Simulator) -> None:
    simulator.faults.compact()
    await simulator.faults.cut()


async def _busy(simulator: Simulator) -> None:
    simulator.faults.refuse(429, body=False, times=2)
    simulator.faults.refuse(503, times=1)
    await simulator.faults.end()


BLOWS: list[Callable[[Simulator], Awaitable[None]]] = [
    lambda simulator: simulator.faults.cut(),
    lambda simulator: simulator.faults.cut(mid_line=True),
    lambda simulator: simulator.faults.truncate(),
    lambda simulator: simulator.faults.garbage(),
    lambda simulator: simulator.faults.expire_open(),
    _frozen,
    _restarted,
    _compacted,
    _busy,
]


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm(tmp_path: Path, seed: int) -> None:
    """While the fleet lives, blow after blow falls; in the end everything is known, nothing more and nothing less."""
    store, rng = Store(), random.Random(seed)  # noqa: S311 - repeatable
    fleet = InventedFleet(store, seed=seed)
    fleet.add(10, operations=3, deleted=0.5)
    async with Simulator(store, token="good") as simulator, knowing(simulator, tmp_path) as known:
        while fleet.next_at is not None:
            await fleet.run(None, until=fleet.next_at + 10)
            await rng.choice(BLOWS)(simulator)
        await known.knows_all()

    assert known.objects


async def test_every_change_comes_once(tmp_path: Path) -> None:
    """Without trouble there is one list, and every write of the fleet is a change."""
    writes: list[str] = []
    store = Store(on_change=lambda past: writes.append(past.kind) if past.version.kind.plural == TCPS else None)
    fleet = InventedFleet(store, seed=1)
    fleet.add(5)
    async with Simulator(store) as simulator, knowing(simulator, tmp_path) as known:
        await simulator.watched(TCPS)
        await fleet.run(None)
        await known.knows_all()

        assert known.syncs == 1
        assert known.reflector.stats.objects == 0
        assert simulator.asked["watch", TCPS] == 1
        assert len(writes) > 200


async def test_a_restored_backup(tmp_path: Path) -> None:
    """Versions go back: the reflector finds out and lists."""
    store = Store()
    fleet = InventedFleet(store, seed=1)
    fleet.add_existing(2)
    async with Simulator(store) as simulator, knowing(simulator, tmp_path) as known:
        await known.knows_all()
        simulator.faults.snapshot()
        fleet.add_existing(2)
        await known.knows_all()
        await simulator.faults.restore()
        await known.knows_all()

        assert len(known.objects) == 2
        assert known.reflector.stats.rewound == 1
