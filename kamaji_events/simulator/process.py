"""A simulator in a process of its own, so that serving costs the measured process nothing."""

import asyncio
import sys
from types import TracebackType
from typing import Self

import orjson

from kamaji_events.simulator.serve import ServePlan

__all__ = ["SimulatorProcess"]

_PATIENCE = 5.0
"""Seconds for an orderly end."""


class SimulatorProcess:
    """``async with SimulatorProcess(ServePlan(filled=10_000)) as simulator``: its ``url`` is served by another process.

    Args:
        plan: what to serve.
    """

    def __init__(self, plan: ServePlan) -> None:
        self._plan = plan
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""
        """Where it is."""

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kamaji_events.simulator",
            self._plan.encode(),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            self.url = await self._told(self._process)
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    @staticmethod
    async def _told(process: asyncio.subprocess.Process) -> str:
        line = await process.stdout.readline() if process.stdout else b""
        if not line:
            raise ChildProcessError("the simulator's process ended before it listened")
        url: str = orjson.loads(line)["url"]
        return url

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
