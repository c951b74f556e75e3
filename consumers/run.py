"""The consumers' service: connect, serve every subscription, follow the file, come back after any loss."""

import asyncio
import contextlib
import logging
import random
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from consumers.alarm import Alarm
from consumers.config import Config, load_config
from consumers.crew import Crew
from consumers.heartbeat import Heartbeats, hear, listen
from consumers.metrics import ConsumerMetrics
from consumers.session import Identity, open_session
from consumers.settings import ConsumerSettings
from consumers.sinks.context import SinkContext
from consumers.topology import House
from consumers.wires import Wires
from kamaji_events.broker.topology import Layout
from kamaji_events.errors import BrokerError, BrokerRefused, SettingsError
from kamaji_events.groups import apart, first_of, only
from kamaji_events.health import HealthServer

__all__ = ["Service", "run"]

_log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class Service:
    """The consumers as one object: what its tasks and its health checks share.

    Args:
        settings: how to find everything.
        house: other names than those of the settings' prefix, or fewer tiers.
        registry: for the metrics; a new one when not given.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        settings: ConsumerSettings,
        *,
        house: House | None = None,
        registry: CollectorRegistry | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.metrics = ConsumerMetrics(registry)
        self.serving = asyncio.Event()
        """Set while connected and every subscription has its worker."""
        self._house = house or House(Layout(settings.prefix))
        self._clock = clock
        self._identity = Identity.new(settings.instance, clock=clock)
        self.heartbeats = Heartbeats(settings.alive_limit, self.metrics, clusters=settings.clusters, clock=clock)
        self._stop = asyncio.Event()
        self._reload = asyncio.Event()
        self._wake = asyncio.Event()
        self._problem: str | None = "not connected to RabbitMQ yet"
        self._text = ""
        self._config = Config(())

    def stop(self) -> None:
        """Finish what is in hand and end."""
        self._stop.set()
        self._wake.set()

    def reload(self) -> None:
        """Read the subscriptions file again, changed or not."""
        self._reload.set()
        self._wake.set()

    def ready(self) -> str | None:
        """What keeps events from being delivered; None when nothing does."""
        return self._problem

    async def run(self) -> None:
        """Serve until stopped.

        Raises:
            SettingsError: the subscriptions file, or a sink in it, cannot be used at the start.
            BrokerRefused: RabbitMQ refuses the login, the vhost or a permission at the start.
        """
        self._config = load_config(self.settings.subscriptions)
        self.metrics.config_valid.set(1)
        health = HealthServer(
            self.settings.health_host, self.settings.health_port, ready=self.ready, registry=self.metrics.registry
        )
        async with health, asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch_file(), name="subscriptions file")
            await self._sessions()
            watching.cancel()

    async def _sessions(self) -> None:
        pause, ever = _FIRST_PAUSE, False
        while not self._stop.is_set():
            began = self._clock()
            try:
                await apart(self._session())
            except (BrokerError, BaseExceptionGroup) as error:
                lost = first_of(error, BrokerError)
                ever = ever or self._problem is None
                if isinstance(lost, BrokerRefused) and not ever:
                    raise lost from error
                pause = _FIRST_PAUSE if self._clock() - began > _LONGEST_PAUSE else pause
                await self._wait_out(lost, pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _wait_out(self, lost: BrokerError, pause: float) -> None:
        self.serving.clear()
        self._problem = str(lost)
        self.metrics.connected.set(0)
        self.metrics.reconnects.inc()
        wait = pause * (0.5 + random.random())  # noqa: S311 - workers should not all come back at once
        _log.warning("no deliveries, trying again in %.1f s: %s", wait, lost)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._stop.wait()

    async def _session(self) -> None:
        settings = self.settings
        session = open_session(
            settings.amqp_url.get_secret_value(),
            self._house,
            self._identity,
            self.metrics,
            heartbeat=settings.heartbeat,
            history_age=settings.history_age,
            clock=self._clock,
        )
        async with session as wires, asyncio.TaskGroup() as tasks:
            crew = Crew(wires, tasks, group=settings.group, context=self._context(wires), look=settings.look_interval)
            await crew.apply(self._config, prune_removed=settings.prune)
            look = min(settings.look_interval, settings.alive_limit / 4)
            beats = await hear(wires.consuming, self._house.layout)
            listening = tasks.create_task(listen(self.heartbeats, Alarm(wires), wires.consuming, beats, look=look))
            async with self._served():
                await self._until_stopped(crew)
                await self._leave(crew)
            listening.cancel()

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[None]:
        self._problem = None
        self.metrics.connected.set(1)
        self.serving.set()
        _log.info("serving %d subscriptions", len(self._config.subscriptions))
        try:
            yield
        finally:
            self.serving.clear()

    def _context(self, wires: Wires) -> SinkContext:
        return SinkContext(
            memory=wires.memory,
            clock=self._clock,
            allow=self.settings.allow,
            amqp_url=self.settings.amqp_url.get_secret_value(),
            events_exchange=wires.house.layout.events,
        )

    async def _until_stopped(self, crew: Crew) -> None:
        while not self._stop.is_set():
            await self._wake.wait()
            self._wake.clear()
            if self._reload.is_set() and not self._stop.is_set():
                self._reload.clear()
                await self._read_again(crew)

    async def _read_again(self, crew: Crew) -> None:
        """A file that cannot be used changes nothing but a metric and a line in the log."""
        try:
            config = load_config(self.settings.subscriptions)
            await crew.apply(config, prune_removed=self.settings.prune)
        except SettingsError as error:
            self.metrics.config_valid.set(0)
            _log.error("the subscriptions file is not used, the former one stays in force: %s", error)
            return
        self._config = config
        self.metrics.config_valid.set(1)
        _log.info("the subscriptions file is in force", extra={"subscriptions": len(config.subscriptions)})

    async def _leave(self, crew: Crew) -> None:
        try:
            async with asyncio.timeout(self.settings.drain_timeout):
                await crew.drain()
        except TimeoutError:
            _log.warning("tries under way are given up, their events come again")
            crew.abandon()

    async def _watch_file(self) -> None:
        """Compare contents, not times: a ConfigMap changes by moving a link."""
        known = self._contents()
        while True:
            await asyncio.sleep(self.settings.reload_interval)
            if (now := self._contents()) != known:
                known = now
                self.reload()

    def _contents(self) -> bytes | None:
        try:
            return self.settings.subscriptions.read_bytes()
        except OSError:
            return None


async def run(settings: ConsumerSettings, *, house: House | None = None) -> None:
    """Run the consumers until SIGTERM or SIGINT; SIGHUP reads the subscriptions file again.

    Args:
        settings: how to find everything.
        house: other names than those of the settings' prefix, or fewer tiers.

    Raises:
        SettingsError: settings, the subscriptions file or a sink cannot be used.
        BrokerRefused: RabbitMQ refuses the login, the vhost or a permission at the start.
    """
    service = Service(settings, house=house)
    loop = asyncio.get_running_loop()
    for number, reaction in (
        (signal.SIGTERM, service.stop),
        (signal.SIGINT, service.stop),
        (signal.SIGHUP, service.reload),
    ):
        loop.add_signal_handler(number, reaction)
    try:
        await service.run()
    except BaseExceptionGroup as group:
        raise only(group) from None
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)
