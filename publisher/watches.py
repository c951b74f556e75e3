"""The watches of both kinds, read into the buffer and started anew together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from publisher.buffer import ChangeBuffer
from publisher.observation import Resource, SyncStarted
from publisher.watch.reflector import Reflector

__all__ = ["Watches"]

MakeReflector = Callable[[Resource, str | None], Reflector[Any]]
"""Makes a reflector of a resource that goes on from a resourceVersion, or lists first when that is None."""


class Watches:
    """Reads every resource into the buffer, from wherever ``restart`` said last.

    Args:
        buffer: where observations go; emptied at each restart.
        make: makes a reflector.
        same: asked before a list is taken up; raises when it is of another cluster than what is remembered, whose
            objects would all seem to be deleted. None believes every list.
    """

    def __init__(
        self, buffer: ChangeBuffer, make: MakeReflector, *, same: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._buffer = buffer
        self._make = make
        self._same = same
        self._versions: Mapping[str, str] = {}
        self._asked = asyncio.Event()
        self._started = asyncio.Event()
        self.reflectors: dict[Resource, Reflector[Any]] = {}
        """The reflectors at work, for health and metrics."""

    async def run(self) -> None:
        """Read until cancelled; nothing is read before the first ``restart``."""
        await self._asked.wait()
        while True:
            self._asked.clear()
            self._buffer.clear()
            async with asyncio.TaskGroup() as group:
                readers = [group.create_task(self._read(resource), name=f"watch {resource}") for resource in Resource]
                self._started.set()
                await self._asked.wait()
                for reader in readers:
                    reader.cancel()

    async def restart(self, versions: Mapping[str, str]) -> None:
        """Drop what is buffered and read again from these resourceVersions; returns when that has begun."""
        self._versions = dict(versions)
        self._started.clear()
        self._asked.set()
        await self._started.wait()

    async def _read(self, resource: Resource) -> None:
        async with self._make(resource, self._versions.get(resource)) as reflector:
            self.reflectors[resource] = reflector
            async for observation in reflector:
                if self._same is not None and isinstance(observation, SyncStarted):
                    await self._same()
                await self._buffer.put(observation)

    @property
    def problem(self) -> str | None:
        """What keeps a watch from being read, None when all are."""
        problems = (f"{name}: {reflector.problem}" for name, reflector in self.reflectors.items() if reflector.problem)
        return "; ".join(problems) or None
