"""A private RabbitMQ: one node on loopback and free ports, in a folder of its own, gone when it is left.

For the demo, the tests and the bench. It shares nothing with a RabbitMQ of the system: node name, ports, cookie,
data and even the port mapper are its own.
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from kamaji_events.errors import BrokerUnavailable

__all__ = ["RabbitNode"]

_DEBIAN = "/usr/lib/rabbitmq/bin"
"""Debian's programs on PATH change to another user, who may not write into our folder; these do not."""
_COOKIE = ".erlang.cookie"
_START_SECONDS = 90.0
_STOP_SECONDS = 20.0
_GUARD = """
exec 3<&0
trap : TERM
(trap - TERM; cat <&3 >/dev/null; kill -KILL 0) &
"$@" </dev/null 3<&-
status=$?
kill -KILL $!
exit $status
"""
"""Kills the whole process group once the pipe to us ends: a node must not outlive who started it, even by SIGKILL."""
_IDLE = "+sbwt none +sbwtdcpu none +sbwtdio none"
"""Erlang's schedulers sleep when there is nothing to do, instead of spinning."""


def _program(name: str) -> str | None:
    return shutil.which(name, path=_DEBIAN) or shutil.which(name)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RabbitNode:
    """A node that can be started, killed and started again on the same data.

    Args:
        folder: where its data and logs go; a temporary one, removed at the end, when not given.
        config: lines of ``rabbitmq.conf``.
        beside: a running node whose port mapper and cookie it shares, so that it can ``join`` it.
    """

    def __init__(self, folder: Path | None = None, *, config: str = "", beside: "RabbitNode | None" = None) -> None:
        self._given = folder
        self._config = config
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._port, self._dist = _free_port(), _free_port()
        self.mapper: int = _free_port() if beside is None else beside.mapper
        """The port of Erlang's port mapper (epmd)."""
        self._beside = beside
        self.name = f"kamaji-{uuid4().hex[:8]}@localhost"
        """Its name in the cluster."""

    @staticmethod
    def available() -> bool:
        """True when there is a ``rabbitmq-server`` on this machine."""
        return _program("rabbitmq-server") is not None

    @property
    def port(self) -> int:
        """Its AMQP port on 127.0.0.1."""
        return self._port

    @property
    def url(self) -> str:
        """Where ``connect`` finds it."""
        return self.vhost_url("/")

    def vhost_url(self, vhost: str) -> str:
        """The URL of one of its vhosts."""
        return f"amqp://guest:guest@127.0.0.1:{self._port}/{'' if vhost == '/' else vhost}"

    @property
    def folder(self) -> Path:
        """Data and logs."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="kamaji-rabbitmq-"))
        return self._folder

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _environment(self) -> dict[str, str]:
        folder = self.folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RABBITMQ_", "ERL_"))}
        return kept | {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(self._dist),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _IDLE,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.mapper),
        }

    async def start(self) -> None:
        """Start it (again, on the same data) and wait until it speaks AMQP.

        Raises:
            BrokerUnavailable: there is no rabbitmq-server, or it did not come up; the log's place is named.
        """
        program = _program("rabbitmq-server")
        if program is None:
            raise BrokerUnavailable("there is no rabbitmq-server here; on Debian: apt-get install rabbitmq-server")
        self._prepare()
        with (self.folder / "console").open("ab") as console:
            self._process = subprocess.Popen(  # noqa: ASYNC220,S603 - returns at once and is not bound to this loop
                ["/bin/sh", "-c", _GUARD, "guard", program],
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._wait_ready()
        except TimeoutError as error:
            raise BrokerUnavailable(f"rabbitmq-server did not come up; see {self.folder}/console") from error

    def _prepare(self) -> None:
        for name in ("data", "log"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if self._beside is not None:
            shutil.copy(self._beside.folder / _COOKIE, self.folder / _COOKIE)
        (self.folder / "plugins").write_text("[].")
        (self.folder / "rabbitmq.conf").write_text(self._config + "\n")

    async def _wait_ready(self) -> None:
        while not await self._speaks_amqp():
            if self._process is None or self._process.poll() is not None:
                raise BrokerUnavailable(f"rabbitmq-server ended at once; see {self.folder}/console")
            await asyncio.sleep(0.2)

    async def _speaks_amqp(self) -> bool:
        """An open port is not enough: the listener is there before the node takes logins."""
        from kamaji_events.broker.connection import connect  # noqa: PLC0415 - node.py is imported without it
        from kamaji_events.errors import BrokerError  # noqa: PLC0415

        with suppress(BrokerError):
            async with connect(self.url, name="is it up"):
                return True
        return False

    def kill(self) -> None:
        """SIGKILL: no goodbye to anyone, nothing flushed that was not."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        self._kill_beam()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def _kill_beam(self) -> None:
        """The Erlang machine itself, should it have left its starter's process group."""
        with suppress(OSError, ValueError):
            os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
            (self.folder / "pid").unlink()

    async def stop(self) -> None:
        """Stop it, its port mapper, and remove its folder unless that was given."""
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, _STOP_SECONDS)
            self.kill()
        await asyncio.to_thread(self._clean)

    def _clean(self) -> None:
        if self._beside is None and (epmd := shutil.which("epmd")) is not None:
            subprocess.run(  # noqa: S603
                [epmd, "-port", str(self.mapper), "-kill"], capture_output=True, check=False, timeout=_STOP_SECONDS
            )
        if self._given is None and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    async def ctl(self, *words: str) -> str:
        """Run ``rabbitmqctl`` against it and give back what it says.

        Raises:
            BrokerUnavailable: it failed; its words are the text.
        """
        program = _program("rabbitmqctl")
        if program is None:
            raise BrokerUnavailable("there is no rabbitmqctl here")
        done = await asyncio.to_thread(
            subprocess.run,
            [program, "-q", "-n", self.name, *words],
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BrokerUnavailable(f"rabbitmqctl {words[0]}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    async def join(self, other: "RabbitNode") -> None:
        """Make one cluster with another node, which it was started beside; what it holds itself is forgotten."""
        await self.ctl("stop_app")
        await self.ctl("reset")
        await self.ctl("join_cluster", other.name)
        await self.ctl("start_app")

    async def settle(self) -> None:
        """Have what was declared written to disk, as it is half a second after the last declaration anyway.

        RabbitMQ (seen with 3.10.8 and 4.0.5) keeps a new quorum queue's name in a table that Erlang writes only after
        500 ms without access (``names.dets``, https://github.com/rabbitmq/ra/pull/443). SIGKILL before that brings the
        queue back without its messages and for ever without a leader. No client can be safe from it, so what kills a
        node right after declaring asks for this first.
        """
        await self.ctl("eval", "[dets:sync(Table) || Table <- dets:all()].")

    async def add_vhost(self, name: str) -> str:
        """Make a vhost that the user guest may use, and give back its URL."""
        await self.ctl("add_vhost", name)
        await self.ctl("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
        return self.vhost_url(name)
