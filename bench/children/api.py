"""The API server of a case: a simulator with a multiplied fleet, in a process of its own.

Arguments: how many control planes, seconds over which their upgrades begin, how many times faster than recorded. The
fleet stands ready; ``go`` lets every control plane live its recorded upgrade.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.children.answering import answering
from bench.upgrades import upgrades
from kamaji_events.simulator import Replay, Simulator, Store, multiply
from kamaji_events.simulator.history import ChangeKind
from kamaji_events.simulator.version import Version

__all__ = ["TimedStore"]


class TimedStore(Store):
    """Remembers when each resourceVersion was written."""

    def __init__(self) -> None:
        super().__init__(managed_fields=False)
        self.written: dict[str, float] = {}

    def say(self, change: ChangeKind, version: Version) -> None:
        """See ``Storage.say``."""
        self.written[version.meta.resource_version] = time.time()
        super().say(change, version)


class _Api:
    def __init__(self, simulator: Simulator, store: TimedStore, replay: Replay) -> None:
        self._simulator = simulator
        self._store = store
        self._replay = replay
        self._replaying: asyncio.Task[None] | None = None

    async def answer(self, asked: dict[str, Any]) -> Any:
        match asked["do"]:
            case "kubeconfig":
                return str(self._simulator.kubeconfig(Path(asked["path"])))
            case "url":
                return self._simulator.url
            case "go":
                self._replaying = asyncio.create_task(self._replay.run(asked["speed"]))
                return time.time()
            case "done":
                if self._replaying is not None:
                    await self._replaying
                return self._replay.told
            case "written":
                return self._store.written
            case _:
                asks = {f"{verb} {plural}": count for (verb, plural), count in self._simulator.asked.items()}
                return {"asked": asks, "watches": dict(self._simulator.open_watches)}


async def _main(arguments: Sequence[str]) -> None:
    count, spread = int(arguments[0]), float(arguments[1])
    store = TimedStore()
    replay = Replay.lazily(store, multiply([upgrades()], count, spread=spread))
    async with Simulator(store) as simulator:
        with contextlib.suppress(asyncio.CancelledError):
            await answering(_Api(simulator, store, replay).answer)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
