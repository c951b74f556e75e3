"""A RabbitMQ for the demo: the one of AMQP_URL, else a private node, else one in Docker, else what to install."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from kamaji_events.broker.connection import connect
from kamaji_events.broker.node import RabbitNode
from kamaji_events.cli.amqp import amqp_url
from kamaji_events.errors import BrokerError, BrokerUnavailable, SettingsError

__all__ = ["DemoBroker", "demo_broker"]

_IMAGE = "docker.io/library/rabbitmq:4.1-alpine"
_START_SECONDS = 120.0
_NAMES = ("AMQP_URL", "KAMAJI_EVENTS_AMQP_URL", "AMQP_URL_FILE", "KAMAJI_EVENTS_AMQP_URL_FILE")
_CURE = (
    "there is no RabbitMQ to use: install one (Debian, Ubuntu: apt-get install rabbitmq-server; "
    "macOS: brew install rabbitmq), or Docker, or set AMQP_URL to one that runs"
)


@dataclass(frozen=True, slots=True)
class DemoBroker:
    """Where it is and what it is."""

    url: str
    told: str
    """For the first line of the demo."""
    private: bool
    """True when it goes with the demo, so that nothing in it has to be tidied up."""


@asynccontextmanager
async def demo_broker(flag: str | None) -> AsyncIterator[DemoBroker]:
    """Find or start a broker; what was started is gone when it is left.

    Raises:
        SettingsError: there is none, and nothing to start one with.
        BrokerError: it does not answer.
    """
    if flag or any(os.environ.get(name) for name in _NAMES):
        async with connect(amqp_url(flag), name="kamaji-events demo") as broker:
            where = broker.where
        yield DemoBroker(amqp_url(flag), f"RabbitMQ at {where}", private=False)
    elif RabbitNode.available():
        async with RabbitNode() as node:
            yield DemoBroker(node.url, f"a private RabbitMQ on port {node.port}", private=True)
    elif await _docker("info"):
        async with _container() as url:
            yield DemoBroker(url, "RabbitMQ in Docker", private=True)
    else:
        raise SettingsError(_CURE)


async def _docker(*words: str) -> str | None:
    """What docker prints; None when there is none or it fails."""
    program = shutil.which("docker")
    if program is None:
        return None
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(program, *words, stdin=null, stdout=pipe, stderr=null)
    printed, _ = await process.communicate()
    return printed.decode().strip() or "done" if process.returncode == 0 else None


@asynccontextmanager
async def _container() -> AsyncIterator[str]:
    name = f"kamaji-events-demo-{uuid4().hex[:8]}"
    if await _docker("run", "--rm", "-d", "--name", name, "-p", "127.0.0.1::5672", _IMAGE) is None:
        raise BrokerUnavailable(f"docker run {_IMAGE} failed; try it by hand to see why")
    try:
        mapped = await _docker("port", name, "5672/tcp")
        if mapped is None:
            raise BrokerUnavailable("the container ended at once; try docker run by hand to see why")
        url = f"amqp://guest:guest@{mapped.splitlines()[0]}/"
        await _until_up(url)
        yield url
    finally:
        await asyncio.shield(_docker("rm", "-f", name))


async def _until_up(url: str) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_START_SECONDS):
            while True:
                with suppress(BrokerError):
                    async with connect(url, name="kamaji-events demo"):
                        return
                await asyncio.sleep(0.5)
    raise BrokerUnavailable("RabbitMQ in Docker did not come up within two minutes")
