"""A server process on loopback: started, killed, and waited for."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["ServerProcess", "free_port", "until"]

_STEP = 0.05
_GO = {"GOGC": "400"}
"""Memory for time: a quarter less CPU than with Go's own measure."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], bool], *, within: float, what: str, failed: Callable[[], str | None]) -> None:
    """Ask again and again, until the condition holds.

    Args:
        condition: true when it is so.
        within: seconds after which it is an error.
        what: what is waited for, for the error.
        failed: says why it will never hold, or None.
    """
    deadline = time.monotonic() + within
    while not condition():
        if reason := failed():
            raise AssertionError(f"{what}: {reason}")
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {within:.0f} s")
        time.sleep(_STEP)


class ServerProcess:
    """One process with its log.

    Args:
        command: the program and its arguments.
        log: where its output goes, appended.
        healthy: true when it answers.
    """

    def __init__(self, command: Sequence[str], log: Path, healthy: Callable[[], bool]) -> None:
        self._command = list(command)
        self._log = log
        self._healthy = healthy
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Start it without waiting."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **_GO}
            )

    def ready(self, within: float = 60.0) -> None:
        """Wait until it answers."""
        until(self._healthy, within=within, what=self._command[0], failed=self._ended)

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.launch()
        self.ready()

    def _ended(self) -> str | None:
        if self._process is None or self._process.poll() is None:
            return None
        tail = self._log.read_text(errors="replace").splitlines()[-15:]
        return "ended with {}:\n{}".format(self._process.returncode, "\n".join(tail))

    def kill(self) -> None:
        """End it at once, as a crash does; it may be started again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
