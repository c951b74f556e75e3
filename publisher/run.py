"""The publisher's service: health, watches and one leadership after the other."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.topology import Layout
from kamaji_events.errors import BrokerError, BrokerRefused, KamajiEventsError, TopologyMismatch
from kamaji_events.groups import apart, first_of
from kamaji_events.health import HealthServer
from kamaji_events.metrics import Metrics
from publisher.buffer import ChangeBuffer
from publisher.exchange import EventsExchange
from publisher.health import Condition, PublisherCollector
from publisher.identity import check_same_cluster
from publisher.journal.journal import Journal
from publisher.journal.policy import JournalPolicy
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.looks import Look, LookAnswer
from publisher.lifecycle.policy import Policy
from publisher.looks import answer
from publisher.memory import Memory, Recovered
from publisher.observation import Resource
from publisher.pipeline import Pipeline
from publisher.process_memory import ProcessMemory
from publisher.questions import Questions
from publisher.remembered import fleet_from
from publisher.settings import PublisherSettings
from publisher.snapshot import DATASTORE_DECODER, TCP_DECODER
from publisher.watch.api import Api
from publisher.watch.backoff import Backoff
from publisher.watch.credentials import find_credentials
from publisher.watch.policy import WatchPolicy
from publisher.watch.reflector import Reflector
from publisher.watches import Watches

__all__ = ["Service", "run"]

_log = logging.getLogger(__name__)

_STABLE = 30.0
"""Seconds that a connection must have lived for the next pause to be short again."""


class Service:
    """One publisher replica: what its tasks and its health checks share.

    Args:
        settings: the publisher's settings.
        layout: names in the broker.
        watch_policy: how patient the watches are; by default what suits a real API server.
        journal_policy: when the journal does what.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        settings: PublisherSettings,
        *,
        layout: Layout | None = None,
        watch_policy: WatchPolicy | None = None,
        journal_policy: JournalPolicy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.leads = asyncio.Event()
        """Set while this replica leads."""
        self._layout = layout or Layout(settings.prefix)
        self._watch_policy = watch_policy or WatchPolicy(compare_interval=settings.compare_interval)
        self._journal_policy = journal_policy or JournalPolicy(timeout=settings.confirm_timeout)
        self._clock = clock
        self._api = Api(find_credentials(settings.kubeconfig, settings.context))
        self._buffer = ChangeBuffer(settings.buffer_bytes)
        self._watches = Watches(self._buffer, self._reflector, same=self._still_the_same)
        self._questions = Questions(self._answer)
        self.pipeline = Pipeline(
            settings,
            buffer=self._buffer,
            watches=self._watches,
            questions=self._questions,
            make_fleet=self._fleet,
            clock=clock,
        )
        self.condition = Condition(self._watches, self.pipeline)
        self._exchange = EventsExchange(self._layout, history_age=settings.history_age)
        self._memory = self._make_memory()
        self._facts: Mapping[str, str] = {}
        self.health: HealthServer | None = None
        """Where the probes are answered, once running."""

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            SettingsError: kubeconfig or address cannot be used.
            BrokerRefused: RabbitMQ refuses the login, the vhost or a permission at the start.
            TopologyMismatch: a queue or exchange exists with other arguments.
            JournalError: what is remembered cannot be read.
            ClusterRefused: the memory is another cluster's.
        """
        settings = self.settings
        metrics = Metrics("publisher")
        metrics.registry.register(PublisherCollector(self.condition, self.pipeline, self._watches, self._buffer))
        health = HealthServer(
            settings.health_host,
            settings.health_port,
            live=self.condition.live,
            ready=self.condition.ready,
            registry=metrics.registry,
        )
        async with self._api, health, asyncio.TaskGroup() as group:
            self.health = health
            group.create_task(self._watches.run(), name="watches")
            group.create_task(self._leaderships(), name="leaderships")

    async def _leaderships(self) -> None:
        backoff = Backoff(base=0.5, most=15.0)
        ever = False
        while True:
            began = self._clock()
            try:
                await apart(self._session())
            except (BrokerError, BaseExceptionGroup) as group:
                error = first_of(group, BrokerError)
                ever = ever or self.condition.broker is None
                if isinstance(error, BrokerRefused | TopologyMismatch) and not ever:
                    raise error from group
                self.condition.broker = str(error)
            if self._clock() - began > _STABLE:
                backoff.worked()
            wait = backoff.failed()
            _log.warning("nothing is published, trying again in %.1f s: %s", wait, self.condition.broker)
            await asyncio.sleep(wait)

    async def _session(self) -> None:
        settings = self.settings
        url = settings.amqp_url.get_secret_value()
        name = f"kamaji-events publisher {settings.cluster} {settings.instance}"
        async with connect(url, name=name, heartbeat=settings.heartbeat) as broker:
            await (self._exchange.look if self.settings.journal else self._exchange.declare)(broker)
            self.condition.broker = None
            await self._lead(broker)

    async def _lead(self, broker: Broker) -> None:
        async with self._memory.lead(broker) as term:
            self._facts = await check_same_cluster(self._api, term.recovered.facts)
            _log.info("leading in term %d", term.recovered.term, extra={"cluster": self.settings.cluster})
            self.condition.leading = True
            self.leads.set()
            try:
                await self.pipeline.lead(term, self._facts)
            finally:
                self.condition.leading = False
                self.leads.clear()

    async def _still_the_same(self) -> None:
        """Before a list is believed: behind the same name there may be another cluster now."""
        self._facts = await check_same_cluster(self._api, self._facts)
        self.pipeline.know(self._facts)

    def _make_memory(self) -> Memory:
        settings = self.settings
        if not settings.journal:
            return ProcessMemory(self._layout, timeout=settings.confirm_timeout, clock=self._clock)
        return Journal(
            self._layout,
            settings.cluster,
            policy=self._journal_policy,
            clock=self._clock,
            ground=self._exchange.declare,
        )

    def _reflector(self, resource: Resource, start: str | None) -> Reflector[Any]:
        decoder = TCP_DECODER if resource is Resource.TENANTCONTROLPLANES else DATASTORE_DECODER
        return Reflector(self._api, resource, decoder, start=start, policy=self._watch_policy, clock=self._clock)

    async def _answer(self, look: Look) -> LookAnswer:
        return await answer(self._api, look, self.settings)

    def _fleet(self, recovered: Recovered) -> Fleet:
        settings = self.settings
        policy = Policy(
            limits=settings.limits.model_dump(),
            outage_hold=settings.outage_hold,
            annotations=settings.annotations,
            announce_existing=settings.announce_existing,
        )
        return fleet_from(recovered, policy)


async def run(settings: PublisherSettings) -> None:
    """Run one replica until cancelled; see ``Service.run``."""
    try:
        await Service(settings).run()
    except BaseExceptionGroup as group:
        raise first_of(group, KamajiEventsError) from group
