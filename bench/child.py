"""Processes that a case needs beside itself: services of this project, and helpers of the bench.

What is judged runs alone in its process, so that its CPU and memory can be told from those of whatever feeds it.
Figures of a process come from ``/proc``: the bench needs Linux.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

__all__ = ["Child"]

_TICK = os.sysconf("SC_CLK_TCK")
_LONGEST = 64 * 1024 * 1024
_GOODBYE = 15.0
_ROOT = Path(__file__).parent.parent


class Child:
    """A Python process, ``async with Child("bench.children.receiver")``; it ends with the block.

    Args:
        words: of the command line behind ``python -m``.
        env: variables added to one's own.
        log: where its errors go.
    """

    def __init__(self, *words: str, env: Mapping[str, str] | None = None, log: Path | None = None) -> None:
        self._words = words
        self._env = {**os.environ, **(env or {})}
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "the process was not started"
        return self._process

    async def __aenter__(self) -> Self:
        with (self._log or Path(os.devnull)).open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=self._env,
                cwd=_ROOT,
                limit=_LONGEST,
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in (signal.SIGCONT, signal.SIGTERM):
            self.signal(number)
        try:
            async with asyncio.timeout(_GOODBYE):
                await self._running.communicate()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            await self._running.wait()

    @property
    def alive(self) -> bool:
        """False once it has ended."""
        return self._running.returncode is None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still lives."""
        with contextlib.suppress(ProcessLookupError):
            self._running.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end; gives its exit code."""
        return await self._running.wait()

    async def line(self) -> bytes:
        """The next line of its output.

        Raises:
            RuntimeError: it ended instead; the end of its log is in the text.
        """
        assert self._running.stdout is not None
        line = await self._running.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self._words)} ended: {self.said()[-2000:]}")
        return line

    def said(self) -> str:
        """What it wrote into its log."""
        return self._log.read_text(errors="replace") if self._log is not None and self._log.exists() else ""

    async def ask(self, do: str, **more: Any) -> Any:
        """Send a helper of ``bench.children`` one command and wait for its answer."""
        assert self._running.stdin is not None
        self._running.stdin.write(orjson.dumps({"do": do, **more}) + b"\n")
        await self._running.stdin.drain()
        return orjson.loads(await self.line())

    def cpu(self) -> float:
        """CPU seconds so far, of all its threads."""
        stat = Path(f"/proc/{self._running.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def peak_mb(self) -> float:
        """Most memory that it ever had resident, in MB."""
        status = Path(f"/proc/{self._running.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
