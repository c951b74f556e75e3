"""The example receiver and the plain pika subscriber, as the processes that they are."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from consumers.sinks.base import Delivered, Failed, Sink
from consumers.sinks.context import SinkContext
from consumers.sinks.registry import build
from kamaji_events.broker.connection import connect
from kamaji_events.broker.declare import apply, delete
from kamaji_events.broker.topology import Exchange, Queue, Topology
from kamaji_events.broker.wire import Outgoing
from tests.support.rabbit import fresh
from tests.support.samples import SECRET, sample_delivery

_EXAMPLES = Path(__file__).parents[2] / "examples"


@asynccontextmanager
async def _running(name: str, *arguments: str, **environ: str) -> AsyncIterator[asyncio.StreamReader]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(_EXAMPLES / name),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **environ},
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        await process.wait()
        await process.stdout.read()


async def test_the_receiver_verifies_and_drops_copies() -> None:
    """A signed event is shown once; one signed with another secret is refused."""
    async with _running("receiver.py", "0", WEBHOOK_SECRET=SECRET) as shown:
        port = (await shown.readline()).split()[-1].decode()
        environ = {"SECRET": SECRET, "WRONG": "whsec_" + "QUFB" * 10}

        def signed(name: str) -> Sink:
            settings = {"url": f"http://127.0.0.1:{port}/", "signature": {"secrets": [{"fromEnv": name}]}}
            return build("webhook", settings, context=SinkContext(environ=environ, allow=("loopback",)))

        right, wrong = signed("SECRET"), signed("WRONG")
        try:
            assert isinstance(await wrong.deliver(sample_delivery()), Failed)
            for name in ("upgrade.started", "upgrade.started", "upgrade.completed"):
                assert await right.deliver(sample_delivery(name)) == Delivered("204")
        finally:
            for sink in (right, wrong):
                await sink.aclose()
        lines = [(await shown.readline()).split()[1].decode() for _ in range(2)]
    assert lines == [f"io.clastix.kamaji.tenantcontrolplane.upgrade.{word}" for word in ("started", "completed")]


@pytest.mark.broker
async def test_the_pika_subscriber_gets_what_it_is_bound_to(rabbit: str) -> None:
    """Bound to upgrades it shows upgrades and nothing else."""
    exchange, queue = fresh("events"), fresh("subscriber")
    topology = Topology((Exchange(exchange, "topic"),))
    async with connect(rabbit, name="test") as broker:
        await apply(broker, topology)
        try:
            environ = {"AMQP_URL": rabbit, "EXCHANGE": exchange, "QUEUE": queue}
            async with _running("subscriber.py", "*.upgrade.*.#", **environ) as shown, broker.publisher() as publisher:
                assert (await shown.readline()).startswith(b"waiting")
                for name in ("state.ready", "upgrade.started", "upgrade.completed"):
                    event = sample_delivery(name).event
                    key = f"tenantcontrolplane.{name}.eu-1.tenants.acme"
                    await publisher.publish(Outgoing(event.raw, key), exchange=exchange)
                lines = [(await shown.readline()).split()[1].decode() for _ in range(2)]
        finally:
            await delete(broker, Topology((Exchange(exchange, "topic"),), (Queue(queue),)))
    assert [line.rpartition(".")[2] for line in lines] == ["started", "completed"]
