"""Everything at once on this machine: simulated fleet, publisher, RabbitMQ, consumers, receiver."""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pydantic import SecretStr

from consumers.run import Service as Consumers
from consumers.settings import ConsumerSettings
from consumers.topology import House
from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.topology import Layout
from kamaji_events.cli.demo.act import ObservedStore, act
from kamaji_events.cli.demo.broker import DemoBroker, demo_broker
from kamaji_events.cli.demo.heard import Heard
from kamaji_events.cli.demo.summary import Summary
from kamaji_events.cli.receiving import CheckingReceiver
from kamaji_events.simulator import Simulator
from publisher.run import Service as Publisher
from publisher.settings import PublisherSettings

__all__ = ["DemoOptions", "play"]

_CLUSTER, _SUBSCRIPTION = "demo", "demo"
_TIERS = (1, 2, 4, 8)
"""Enough for a demo, and quick to declare: each tier is a quorum queue."""
_SECRET = "whsec_a2FtYWppLWV2ZW50cy1kZW1vLW5vLXNlY3JldA=="  # noqa: S105 - known to everybody, for a receiver on loopback
_QUIET, _PATIENCE = 1.5, 20.0
"""Seconds without an event that count as the end, and how long to wait for events that are missing."""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the user chose."""

    objects: int
    """Tenant control planes."""
    show: bool
    """Print each event."""
    amqp_url: str | None = None


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def play(options: DemoOptions) -> Summary:
    """Run the demo; everything it started or made is gone when this returns or is cancelled.

    Raises:
        KamajiEventsError: no broker, or a part of it could not be started.
    """
    _say("looking for RabbitMQ ...")
    heard = Heard(show=options.show)
    store = ObservedStore(heard.ledger.wrote)
    receiver = CheckingReceiver("127.0.0.1", 0, secret=_SECRET, on_event=heard.take)
    with tempfile.TemporaryDirectory(prefix="kamaji-demo-") as name:
        async with demo_broker(options.amqp_url) as broker, Simulator(store) as simulator, receiver:
            _say(f"{broker.told}; simulated API server {simulator.url}; receiver {receiver.url}")
            layout = Layout("kamaji" if broker.private else f"kamaji-demo-{uuid4().hex[:8]}")
            stage = _Stage(broker, layout, Path(name), simulator, receiver)
            async with _tidied(broker, layout), stage.running() as publisher:
                return await _perform(options, heard, store, receiver, publisher)


async def _perform(
    options: DemoOptions, heard: Heard, store: ObservedStore, receiver: CheckingReceiver, publisher: Publisher
) -> Summary:
    await heard.until(lambda: heard.ledger.events["sync.completed"] >= 2)  # noqa: PLR2004 - one for each kind
    _say(f"publisher and consumers are up; {options.objects} tenant control planes come, change and go\n")
    began = time.monotonic()
    await act(store, options.objects)
    pipeline = publisher.pipeline
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await heard.until(lambda: heard.ledger.events["delete.completed"] >= options.objects)
            await heard.quiet(_QUIET)
            await heard.until(lambda: heard.count >= pipeline.published)
    seconds = time.monotonic() - began
    return Summary(pipeline.judged, pipeline.published, receiver.tally, heard.ledger, seconds)


@dataclass(frozen=True, slots=True)
class _Stage:
    broker: DemoBroker
    layout: Layout
    folder: Path
    simulator: Simulator
    receiver: CheckingReceiver

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Publisher]:
        """Consumers first, so that they hear everything; a part that fails ends the demo with its error."""
        consumers, publisher = self._consumers(), self._publisher()
        async with asyncio.TaskGroup() as tasks:
            consuming = tasks.create_task(consumers.run(), name="consumers")
            await consumers.serving.wait()
            publishing = tasks.create_task(publisher.run(), name="publisher")
            yield publisher
            publishing.cancel()
            consumers.stop()
            await consuming

    def _consumers(self) -> Consumers:
        file, secret = self.folder / "subscriptions.yaml", self.folder / "secret"
        secret.write_text(_SECRET)
        file.write_text(
            f"subscriptions:\n"
            f"  - name: {_SUBSCRIPTION}\n"
            f"    filter: {{clusters: [{_CLUSTER}]}}\n"
            f"    delivery: {{concurrency: 20}}\n"
            f"    sink:\n"
            f"      webhook:\n"
            f"        url: {self.receiver.url}\n"
            f"        egress: {{allow: [loopback]}}\n"
            f"        signature: {{secrets: [{{fromFile: {secret}}}]}}\n"
        )
        settings = ConsumerSettings(
            amqp_url=SecretStr(self.broker.url),
            prefix=self.layout.prefix,
            subscriptions=file,
            instance="demo",
            health_host="127.0.0.1",
            health_port=0,
        )
        return Consumers(settings, house=House(self.layout, _TIERS))

    def _publisher(self) -> Publisher:
        settings = PublisherSettings(
            amqp_url=SecretStr(self.broker.url),
            prefix=self.layout.prefix,
            cluster=_CLUSTER,
            instance="demo",
            kubeconfig=self.simulator.kubeconfig(self.folder / "kubeconfig"),
            health_host="127.0.0.1",
            health_port=0,
        )
        return Publisher(settings)


@asynccontextmanager
async def _tidied(broker: DemoBroker, layout: Layout) -> AsyncIterator[None]:
    """Leave nothing in a broker that stays."""
    try:
        yield
    finally:
        if not broker.private:
            await asyncio.shield(_delete(broker.url, layout))


async def _delete(url: str, layout: Layout) -> None:
    house = House(layout, _TIERS)
    parts = (
        layout.subscription_topology(_SUBSCRIPTION),
        layout.journal_topology(_CLUSTER),
        house.common_topology(),
        layout.exchange_topology(),
    )
    async with connect(url, name="kamaji-events demo") as connection:
        for part in parts:
            await declare.delete(connection, part)
