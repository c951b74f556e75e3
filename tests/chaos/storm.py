"""A seeded storm: a living fleet, and everything around it that is killed at random points."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consumers.topology import House
from kamaji_events.broker.node import RabbitNode
from kamaji_events.event import Event
from kamaji_events.simulator import Store
from kamaji_events.simulator.invented import InventedFleet
from tests.chaos.history import WATCHED, Chronicle, Cut, Listening
from tests.support.consumers import Stage, stage
from tests.support.installation import CLUSTER, Installation, Replica, eventually, installation
from tests.support.receiver import Receiver, receiver, response

__all__ = ["Blow", "Storm", "storm"]

_PACE = 8.0
"""The fleet's seconds in a real one."""
_BREATH = 50
_AHEAD = 5_000
_ALONE = 200
"""Writes that are made while nobody watches and that the server then forgets."""

Blow = str
"""A method of ``Storm`` whose name says what it does."""


class _Worker:
    """A consumers' process that is killed now and then, and started again."""

    def __init__(self, scene: Stage, name: str) -> None:
        self._scene, self._name = scene, name
        self._again = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._again.clear()
            async with self._scene.killed(instance=self._name):
                await self._again.wait()

    def kill(self) -> None:
        """The process dies where it stands."""
        self._again.set()


class _Hook:
    """A receiver that is killed now and then; what it held before, it holds still."""

    def __init__(self) -> None:
        self.receiver = Receiver()
        self._held: dict[str, Event] = {}
        self._read = 0
        self._again = asyncio.Event()
        self.up = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._again.clear()
            async with receiver(port=self.receiver.port) as running:
                running.requests = self.receiver.requests
                running.arrived = self.receiver.arrived
                self.receiver = running
                self.up.set()
                await self._again.wait()

    def kill(self) -> None:
        """Its connections are reset, whatever it was answering."""
        self._again.set()

    async def refuse(self, seconds: float) -> None:
        """It answers 503 for a while."""
        self.receiver.answer = response(503)
        await asyncio.sleep(seconds)
        self.receiver.answer = response()

    def held(self) -> dict[str, Event]:
        """What it holds, by id; every copy must be the same bytes."""
        for request in self.receiver.requests[self._read :]:
            event = Event.from_bytes(request.body)
            assert self._held.setdefault(event.id, event).raw == event.raw
        self._read = len(self.receiver.requests)
        return self._held


@dataclass
class Storm:
    """What a storm rages over."""

    place: Installation
    node: RabbitNode
    sim: Listening
    fleet: InventedFleet
    chronicle: Chronicle
    rng: random.Random
    hook: _Hook
    workers: list[_Worker]
    replicas: dict[str, Replica] = field(default_factory=dict)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    log: list[str] = field(default_factory=list)
    """What was done to it, for whoever reads a failure."""
    _restart: "asyncio.Task[None] | None" = None

    async def start(self, name: str) -> Replica:
        """Another publisher process."""
        replica = await self.stack.enter_async_context(self.place.replica(name, heartbeat=5, confirm_timeout=2.0))
        self.replicas[name] = replica
        return replica

    async def rage(self, blows: Mapping[int, Blow]) -> None:
        """Let the fleet live to its end; blows fall at the given writes."""
        clock = asyncio.get_running_loop().time
        writes, begun, skew = 0, clock(), 0.0
        while (due := self.fleet.next_at) is not None:
            ahead = due / _PACE - (clock() - begun) + skew
            if ahead > 0 or writes % _BREATH == 0:
                await asyncio.sleep(max(ahead, 0))
                await self.sim.store.settle(_AHEAD)
            self.fleet.step()
            writes += 1
            if (blow := blows.get(writes)) is not None:
                self.log.append(f"{writes}: {blow}")
                strike: Callable[[], Awaitable[None]] = getattr(self, blow)
                at = clock()
                await strike()
                skew += clock() - at
        await self._broker_is_up()

    def leader(self) -> str | None:
        """The name of whoever leads."""
        return next((name for name, replica in self.replicas.items() if replica.service.leads.is_set()), None)

    def at_rest(self) -> bool:
        """Somebody leads and has nothing left to tell."""
        name = self.leader()
        return name is not None and self.replicas[name].service.pipeline.waiting == 0

    def _any(self) -> str:
        return self.leader() or self.rng.choice(sorted(self.replicas))

    async def leader_killed(self) -> None:
        """SIGKILL of whoever leads; another process takes its place among the standbys."""
        name = self._any()
        await self.replicas.pop(name).kill()
        await self.start(name)

    async def standby_killed(self) -> None:
        """SIGKILL of one that waits."""
        name = self.rng.choice(sorted(set(self.replicas) - {self.leader()}) or sorted(self.replicas))
        await self.replicas.pop(name).kill()
        await self.start(name)

    async def leader_cut(self) -> None:
        """The leader's connection to the broker is reset, at any byte soon."""
        self.replicas[self._any()].proxy.cut_after(self.rng.randrange(1, 100_000))

    async def broker_killed(self) -> None:
        """SIGKILL of RabbitMQ; it is started again on the same data while everything goes on."""
        await self._broker_is_up()
        await self.node.settle()
        self.node.kill()
        self._restart = asyncio.create_task(self.node.start())

    async def _broker_is_up(self) -> None:
        if self._restart is not None:
            await self._restart
            self._restart = None

    async def watches_cut(self) -> None:
        """The API server's connections are reset, perhaps in the middle of a line."""
        await self.sim.faults.cut(mid_line=self.rng.random() < 0.5)

    async def garbled(self) -> None:
        """A proxy's error page in the middle of a watch."""
        await self.sim.faults.garbage(self.rng.choice(WATCHED))

    async def overloaded(self) -> None:
        """The API server refuses a few requests."""
        self.sim.faults.refuse(429, body=False, times=4)
        await self.sim.faults.cut()

    async def too_old(self) -> None:
        """The API server has forgotten everything, under whoever watches and reads."""
        self.sim.store.compact()
        await self.sim.faults.expire_open()

    async def worker_killed(self) -> None:
        """SIGKILL of a consumers' process."""
        self.rng.choice(self.workers).kill()

    async def receiver_killed(self) -> None:
        """SIGKILL of the receiver."""
        self.hook.kill()

    async def receiver_refuses(self) -> None:
        """503 for a moment."""
        await self.hook.refuse(0.3)

    async def forgotten(self) -> None:
        """Every publisher is killed; much happens, the server forgets it, then others start and list."""
        await self._broker_is_up()
        names = sorted(self.replicas)
        for name in sorted(names, key=lambda name: name == self.leader()):
            await self.replicas.pop(name).kill()
        for _ in range(_ALONE):
            self.fleet.step()
        self.sim.store.compact()
        asked, heard = len(self.sim.asked_for), len(self._syncs())
        for name in names:
            await self.start(name)
        await self.place.ears.until(lambda: {*WATCHED} <= {*self._syncs()[heard:]})
        seen: dict[str, int] = {}
        for watched in self.sim.asked_for[asked:]:
            if watched.version:
                seen.setdefault(watched.resource, watched.version)
        self.chronicle.cuts.append(Cut(seen, self.sim.store.version))

    def _syncs(self) -> list[str]:
        syncs = (event for event in self.place.ears.first.values() if event.name == "sync.completed")
        return [event.data["resource"] for event in syncs]


@asynccontextmanager
async def storm(
    node: RabbitNode, house: House, folder: Path, seed: int, *, control_planes: int
) -> AsyncIterator[Storm]:
    """Two publishers, two workers, a receiver, and a fleet about to live."""
    chronicle = Chronicle()
    store = Store(seed=seed, on_change=chronicle.changes.append)
    fleet = InventedFleet(store, seed=seed, rest=3.0, namespaces=("tenants", "others"))
    chronicle.begin(store)
    fleet.add(control_planes, operations=2, within=20.0, deleted=0.6)
    hook, sim = _Hook(), Listening(store)
    async with (
        sim,
        stage(node.url, house, folder) as scene,
        installation(sim, node.url, house.layout, folder, more=house.common_topology()) as place,
        AsyncExitStack() as stack,
    ):
        tasks = [asyncio.create_task(hook.run())]
        await hook.up.wait()
        circuit = {"failures": 5, "probeFirst": 0.5, "probeMost": 1.0}
        delivery: dict[str, Any] = {"tries": 1000, "timeout": "5s", "circuit": circuit}
        everything = {"clusters": [CLUSTER], "events": ["tenantcontrolplane.*.*", "datastore.*.*"]}
        scene.write(scene.subscription(hook.receiver.url, **delivery) | {"filter": everything})
        workers = [_Worker(scene, f"w{number}") for number in range(2)]
        tasks += [asyncio.create_task(worker.run()) for worker in workers]
        made = Storm(place, node, sim, fleet, chronicle, random.Random(seed), hook, workers, stack=stack)  # noqa: S311
        try:
            for name in ("a", "b"):
                await made.start(name)
            await eventually(lambda: made.leader() is not None)
            await place.ears.until(lambda: sum(e.name == "sync.completed" for e in place.ears.first.values()) >= 2)
            yield made
        finally:
            for task in tasks:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended
            with suppress(asyncio.CancelledError):
                await made._broker_is_up()
