"""A living fleet out of a seed: control planes that come, change and go, at any pace."""

import asyncio
import heapq
import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import count, islice

from kamaji_events.simulator.body import datastore
from kamaji_events.simulator.hands import Gone, Steps
from kamaji_events.simulator.operations import VERSIONS, draw
from kamaji_events.simulator.refusal import Refusal
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.tenant import Tenant

__all__ = ["InventedFleet"]

_TIERS = ("bronze", "silver", "gold")
_BREATH = 100
"""Writes after which other tasks get their turn when nothing is waited for."""
_READY = "kamaji.clastix.io/DataStoreValidation"


class InventedFleet:
    """Plays every owner and the operator in a store; time is its own until ``run`` gives it a pace.

    The same seed and calls make the same writes in the same order, whatever the pace.

    Args:
        store: the cluster.
        seed: decides everything.
        namespaces: where control planes are.
        stores: DataStores, created at once where they are not there.
        rest: mean seconds between two things that happen to one control plane.
        impatience: share of changes of mind: what is begun is overtaken by something else.
    """

    def __init__(
        self,
        store: Store,
        *,
        seed: int = 0,
        namespaces: Sequence[str] = ("tenants",),
        stores: Sequence[str] = ("default", "etcd-two"),
        rest: float = 10.0,
        impatience: float = 0.1,
    ) -> None:
        self._store = store
        self._seed = seed
        self._namespaces = tuple(namespaces)
        self._stores = tuple(stores)
        self._rest = rest
        self._impatience = impatience
        self._numbers = count()
        self._order = count()
        self._due: list[tuple[float, int, Steps]] = []
        self.now = 0.0
        """Seconds of the fleet's own time."""
        self.tenants: dict[str, Tenant] = {}
        """Every control plane ever added, by ``namespace/name``."""
        for name in stores:
            self._add_store(name)

    def _add_store(self, name: str) -> None:
        if self._store.get("datastores", None, name) is None:
            made = self._store.create("datastores", datastore(name), manager="helm")
            condition = {"type": _READY, "status": "True", "reason": "DataStoreIsValid", "message": ""}
            made["status"] = {"ready": True, "observedGeneration": 1, "conditions": [condition]}
            self._store.update_status("datastores", made)

    def add(
        self, many: int, *, operations: int | None = 3, deleted: float = 1.0, within: float = 30.0, lives: int = 1
    ) -> list[Tenant]:
        """Let control planes come, change and go.

        Args:
            many: how many.
            operations: what happens to each between its creation and its deletion; None for without an end.
            deleted: share of them that is deleted in the end.
            within: seconds within which they are created.
            lives: how often each comes under its name: beyond 1 it is created again after its deletion.
        """
        added = [self._tenant() for _ in range(many)]
        for tenant in added:
            rng = self._rng("life", tenant.subject)
            script = self._lives(tenant, rng, operations, lives, deleted=rng.random() < deleted)
            self._schedule(rng.uniform(0.0, within), script)
        return added

    def add_existing(self, many: int) -> list[Tenant]:
        """Control planes that are ready already: all their writes are made at once."""
        added = [self._tenant() for _ in range(many)]
        for tenant in added:
            for _ in self._create(tenant, self._rng("life", tenant.subject)):
                pass
        return added

    def let(self, steps: Steps, *, after: float = 0.0) -> None:
        """Let something happen, such as ``fleet.tenants["tenants/acme"].delete()``."""
        self._schedule(after, steps)

    def upset_stores(self, times: int, *, every: float = 20.0) -> None:
        """Let DataStores lose and regain their readiness."""
        rng = self._rng("stores")
        for name in self._stores:
            self._schedule(rng.uniform(0.0, every), self._upset(name, rng, times, every))

    def step(self) -> bool:
        """Make the next write; False when nothing is left to happen."""
        if not self._due:
            return False
        self.now, _, steps = heapq.heappop(self._due)
        try:
            self._schedule(next(steps), steps)
        except (StopIteration, Gone):
            pass
        except Refusal:
            steps.close()  # somebody else changed what it was at: this one's story ends
        return True

    @property
    def next_at(self) -> float | None:
        """When, in the fleet's own time, the next write is due; None when nothing is left to happen."""
        return self._due[0][0] if self._due else None

    async def run(
        self,
        pace: float | None = 1.0,
        *,
        until: float | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Make all writes, or those until a time.

        Args:
            pace: the fleet's seconds in one real second; None for as fast as possible.
            until: the fleet's own time at which to stop.
            sleep: waits.
        """
        clock = asyncio.get_running_loop().time
        begun, first = clock(), self.now
        for number in count():
            due = self.next_at
            if due is None:
                return
            over = until is not None and due > until
            target = until if over and until is not None else due
            ahead = (target - first) / pace - (clock() - begun) if pace else 0.0
            if ahead > 0 or number % _BREATH == 0:
                await sleep(max(ahead, 0.0))
                await self._store.keep_pace()
            if over:
                self.now = target
                return
            self.step()

    def _rng(self, *what: str) -> random.Random:
        return random.Random("/".join((str(self._seed), *what)))

    def _schedule(self, after: float, steps: Steps) -> None:
        heapq.heappush(self._due, (self.now + after, next(self._order), steps))

    def _tenant(self) -> Tenant:
        number = next(self._numbers)
        namespace = self._namespaces[number % len(self._namespaces)]
        tenant = Tenant(self._store, self._rng("hands", str(number)), namespace, f"tcp-{number:04}")
        self.tenants[tenant.subject] = tenant
        return tenant

    def _create(self, tenant: Tenant, rng: random.Random) -> Steps:
        return tenant.create(
            version=rng.choice(VERSIONS[:4]),
            replicas=rng.choice((1, 2, 2, 3)),
            store=rng.choice(self._stores),
            labels={"tier": rng.choice(_TIERS)},
        )

    def _lives(self, tenant: Tenant, rng: random.Random, operations: int | None, lives: int, *, deleted: bool) -> Steps:
        for _ in range(lives):
            yield from self._create(tenant, rng)
            for _ in islice(count(), operations):
                yield rng.expovariate(1.0 / self._rest)
                yield from self._happening(tenant, rng)
            yield rng.expovariate(1.0 / self._rest)
            if not deleted:
                return
            yield from tenant.delete()
            yield rng.expovariate(1.0 / self._rest)

    def _happening(self, tenant: Tenant, rng: random.Random) -> Steps:
        """One thing that happens, or two of which the second overtakes the first."""
        steps = draw(tenant, rng, self._stores)
        if rng.random() < self._impatience:
            yield from islice(steps, rng.randrange(1, 8))
            steps = draw(tenant, rng, self._stores)
        yield from steps
        yield from tenant.reconcile()

    def _upset(self, name: str, rng: random.Random, times: int, every: float) -> Steps:
        for _ in range(times):
            for ready in (False, True):
                content = self._store.get("datastores", None, name)
                if content is None:
                    return
                content["status"]["ready"] = ready
                content["status"]["conditions"][0]["status"] = str(ready)
                self._store.update_status("datastores", content)
                yield rng.uniform(0.5, 1.5) * every
