"""The whole publisher against the real server, with a memory that keeps its events for the test instead of a broker."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from publisher.buffer import ChangeBuffer
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.looks import Look, LookAnswer
from publisher.lifecycle.policy import Policy
from publisher.looks import answer
from publisher.memory import Delta, Recovered
from publisher.observation import Resource
from publisher.pipeline import Pipeline
from publisher.questions import Questions
from publisher.remembered import fleet_from
from publisher.settings import PublisherSettings
from publisher.snapshot import DATASTORE_DECODER, TCP_DECODER
from publisher.watch.api import Api
from publisher.watch.credentials import find_credentials
from publisher.watch.policy import WatchPolicy
from publisher.watch.reflector import Reflector
from publisher.watches import Watches
from tests.apiserver.watching import eventually

__all__ = ["CLUSTER", "Published", "publishing"]

CLUSTER = "eu-1"
"""The management cluster's name in the events."""
_POLICY = WatchPolicy(backoff_base=0.2, backoff_most=0.5, missing_most=0.2)


class Published:
    """What was published, and the memory that a next leader would find."""

    def __init__(self, recovered: Recovered) -> None:
        self.recovered = recovered
        self.messages: list[Any] = []
        """Every event's ``Message``, in order."""
        self._by_kind: dict[str, list[dict[str, Any]]] = {}
        self._by_subject: dict[str, list[str]] = {}
        self.objects: dict[str, bytes] = dict(recovered.objects)
        self.versions: dict[str, str] = dict(recovered.versions)
        self.facts: dict[str, str] = dict(recovered.facts)
        self.watches: Watches | None = None
        self.problem = None

    @property
    def next(self) -> int:
        """See ``publisher.memory.Term``."""
        return 1

    async def commit(self, delta: Delta) -> None:
        """See ``publisher.memory.Term``."""
        self.messages += delta.messages
        for message in delta.messages:
            self._keep(orjson.loads(message.body))
        self.versions |= delta.versions
        self.facts |= delta.facts
        for key, value in delta.changed.items():
            if value is None:
                self.objects.pop(key, None)
            else:
                self.objects[key] = value

    async def keep(self) -> None:
        """See ``publisher.memory.Term``."""
        await asyncio.Event().wait()

    def _keep(self, event: dict[str, Any]) -> None:
        *_, kind, one, two = event["type"].split(".")
        self._by_kind.setdefault(kind, []).append(event)
        if kind == "tenantcontrolplane" and one != "outage" and two != "stalled":
            self._by_subject.setdefault(event["subject"], []).append(f"{one}.{two}")

    def events(self, kind: str = "tenantcontrolplane") -> list[dict[str, Any]]:
        """Every event of a kind, decoded, in order."""
        return self._by_kind.get(kind, [])

    def names(self, subject: str) -> list[str]:
        """The events of one control plane by their two words, in order; those that a clock decides are left out."""
        return self._by_subject.get(subject, [])

    def by_uid(self) -> dict[str, list[tuple[str, str | None]]]:
        """For each object its events in order, with the resourceVersion that each is concluded from."""
        told: dict[str, list[tuple[str, str | None]]] = {}
        for event in self.events():
            words = ".".join(event["type"].split(".")[-2:])
            told.setdefault(event["partitionkey"], []).append((words, event["data"]["object"]["resourceVersion"]))
        return told

    def syncs(self) -> int:
        """How many lists were completed."""
        return sum(event["type"].endswith(".sync.completed") for event in self.events("publisher"))

    async def synced(self, times: int = 1) -> None:
        """Wait until both kinds were listed that many times."""
        await eventually(lambda: self.syncs() >= times * len(Resource), f"{times} lists of both kinds")

    async def told(self, subject: str, name: str, times: int = 1) -> None:
        """Wait until an object's event was published."""
        await eventually(lambda: self.names(subject).count(name) >= times, lambda: (name, subject, self.names(subject)))

    def memory(self) -> Recovered:
        """What the next leader finds."""
        return Recovered(
            term=self.recovered.term + 1,
            first=False,
            objects=dict(self.objects),
            versions=dict(self.versions),
            facts=dict(self.facts),
        )


@asynccontextmanager
async def publishing(
    kubeconfig: Path,
    *,
    recovered: Recovered | None = None,
    policy: WatchPolicy = _POLICY,
    settings: Mapping[str, Any] | None = None,
) -> AsyncIterator[Published]:
    """Publish what happens, from the start or from what a former leader remembered."""
    config = PublisherSettings(cluster=CLUSTER, instance="test", kubeconfig=kubeconfig, **(settings or {}))
    buffer = ChangeBuffer(config.buffer_bytes)
    published = Published(recovered or Recovered(term=1))
    async with Api(find_credentials(kubeconfig)) as api:

        def reflector(resource: Resource, start: str | None) -> Reflector[Any]:
            decoder = TCP_DECODER if resource is Resource.TENANTCONTROLPLANES else DATASTORE_DECODER
            return Reflector(api, resource, decoder, start=start, policy=policy)

        async def look(question: Look) -> LookAnswer:
            return await answer(api, question, config)

        def fleet(found: Recovered) -> Fleet:
            return fleet_from(found, Policy(limits=config.limits.model_dump(), annotations=config.annotations))

        published.watches = Watches(buffer, reflector)
        pipeline = Pipeline(
            config, buffer=buffer, watches=published.watches, questions=Questions(look), make_fleet=fleet
        )
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(published.watches.run()), group.create_task(pipeline.lead(published, {}))]
            yield published
            for task in tasks:
                task.cancel()
