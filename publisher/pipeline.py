"""From observations to told events: judge, batch, remember, publish.

::

    watches ──> buffer ──> judge (Fleet, pure) ──> outbox ──> term.commit (remember + publish)
                  ^             │ questions
                  └── answers <─┘ (lists of owned kinds)

The watches and the buffer live as long as the process. Judging and committing live as long as a leadership: while
the broker is away nothing is concluded, changes wait in the buffer, and batches that were decided wait in the outbox.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kamaji_events.catalogue import Kind
from kamaji_events.instance import InstanceEvents
from publisher.batch import Batch, Notice
from publisher.buffer import Buffered, ChangeBuffer
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.looks import LookAnswer
from publisher.memory import Recovered, Term
from publisher.observation import Changed, Observation, Resource, SyncEnded, SyncStarted
from publisher.outbox import Outbox
from publisher.questions import Questions
from publisher.remembered import EPOCH, encode
from publisher.render import render
from publisher.settings import PublisherSettings
from publisher.watches import Watches

__all__ = ["Pipeline"]

REWOUND = "the API server's resourceVersions went back: etcd was restored from a backup"

_STORE_SECONDS = 30.0
"""Time after which versions are remembered though nothing was concluded."""

_log = logging.getLogger(__name__)


class Pipeline:
    """One publisher's way from watch to exchange.

    Args:
        settings: the publisher's settings.
        buffer: where the watches put what they read.
        watches: started anew when a leadership begins with another memory.
        questions: answers what only the API server knows.
        make_fleet: makes the judge from what is remembered.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        settings: PublisherSettings,
        *,
        buffer: ChangeBuffer,
        watches: Watches,
        questions: Questions,
        make_fleet: Callable[[Recovered], Fleet],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._buffer = buffer
        self._watches = watches
        self._questions = questions
        self._make_fleet = make_fleet
        self._clock = clock
        self._outbox = Outbox()
        self._versions: dict[str, str] = {}
        self._fleet: Fleet | None = None
        self._instance: InstanceEvents | None = None
        self._term = 0
        self._leading: Term | None = None
        self._unwatched_since: dict[Resource, float] = {}
        self._reconstructed: Counter[Resource] = Counter()
        self._alive_at = 0.0
        self._stored_at = 0.0
        self._facts: dict[str, str] = {}
        self.published = 0
        """Events told since the start."""
        self.judged = 0
        """Changes judged since the start."""

    @property
    def term(self) -> int:
        """The last leadership's number, 0 before the first."""
        return self._term

    @property
    def waiting(self) -> int:
        """Batches that are decided and not yet safe."""
        return len(self._outbox)

    @property
    def problem(self) -> str | None:
        """Why batches do not go out though this replica leads; None when they do."""
        return self._leading.problem if self._leading is not None else None

    def counts(self) -> Mapping[str, Any]:
        """What ``Fleet.counts`` says; empty before the first leadership."""
        return self._fleet.counts() if self._fleet is not None else {}

    async def lead(self, term: Term, facts: Mapping[str, str]) -> None:
        """Lead until it is over.

        Args:
            term: the leadership.
            facts: what is remembered beside objects and versions, see ``Delta.facts``.

        Raises:
            BrokerError: why it is over.
        """
        self.know(facts)
        await self._begin(term.recovered)
        self._leading = term
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(term.keep(), name="keep the token")
                group.create_task(self._judge(), name="judge")
                group.create_task(self._commit(term), name="commit")
                group.create_task(self._questions.run(self._buffer), name="questions")
        finally:
            self._leading = None

    def know(self, facts: Mapping[str, str]) -> None:
        """What is to be remembered beside objects and versions, from the next batch on."""
        self._facts = dict(facts)

    async def _begin(self, recovered: Recovered) -> None:
        now = self._clock()
        if recovered.own is not None and self._fleet is not None:
            self._outbox.recovered(recovered.own)
        else:
            await self._start_over(recovered)
        if recovered.term == self._term:
            return
        self._term = recovered.term
        self._instance = InstanceEvents(
            Kind.PUBLISHER,
            cluster=self._settings.cluster,
            instance=self._settings.instance,
            term=recovered.term,
            carry_term=True,
            schema_base=self._settings.schema_base,
        )
        notices = [Notice("state.leading", now, {"term": recovered.term})]
        if recovered.lost is not None:
            notices.append(_lost(recovered.lost, self._fleet_now.epoch, now))
        self._outbox.put(self._batch(notices))

    async def _start_over(self, recovered: Recovered) -> None:
        """Take up what is remembered: nothing that was decided here was ever told, or somebody else told it."""
        self._outbox.clear()
        self._questions.forget()
        self._fleet = self._make_fleet(recovered)
        self._versions = dict(recovered.versions)
        since = recovered.unwatched_since
        self._unwatched_since = {} if since is None else dict.fromkeys(Resource, since)
        await self._watches.restart(self._versions)

    async def _judge(self) -> None:
        while True:
            await self._outbox.room()
            await self._buffer.wait(self._patience())
            items = self._buffer.take(self._settings.batch_changes)
            said = self._conclude(items)
            batch = self._batch(said)
            if said or batch.changed or self._version_is_old():
                self._stored_at = self._clock()
                self._outbox.put(batch)  # nothing was awaited since the buffer was asked: no end can come between
            if self._buffer.overflowed.is_set() and not len(self._buffer):
                _log.warning("more changes came than can wait: the watches are read anew from the last judged version")
                await self._watches.restart(self._versions)

    def _version_is_old(self) -> bool:
        """Changes that say nothing still move the versions: a successor should not have to read them all again."""
        return self._clock() - self._stored_at > _STORE_SECONDS

    def _patience(self) -> float:
        """Seconds until something must be said though nothing comes."""
        deadline = self._fleet_now.next_deadline()
        until = min(self._alive_at, deadline) if deadline is not None else self._alive_at
        return max(0.0, until - self._clock())

    @property
    def _fleet_now(self) -> Fleet:
        if self._fleet is None:
            raise RuntimeError("no leadership has begun")
        return self._fleet

    def _conclude(self, items: Sequence[Buffered]) -> list[Decision | Notice]:
        now = self._clock()
        said: list[Decision | Notice] = []
        for item in items:
            said += self._observed(item, now)
        said += self._fleet_now.tick(now)
        for look in self._fleet_now.looks(now):
            self._questions.ask(look)
        if now >= self._alive_at:
            self._alive_at = now + self._settings.alive_interval
            said.append(Notice("state.alive", now, {"counts": self._fleet_now.counts()}))
        return said

    def _observed(self, item: Buffered, now: float) -> list[Decision | Notice]:
        if isinstance(item, LookAnswer):
            return list(self._fleet_now.looked(item, now))
        epoch = self._fleet_now.epoch
        decisions: list[Decision | Notice] = list(self._fleet_now.observe(item, now))
        if self._fleet_now.epoch != epoch:
            decisions.insert(0, _lost(REWOUND, self._fleet_now.epoch, now))
        self._count(item, decisions)
        if isinstance(item, Changed):
            self.judged += 1
            self._unwatched_since.pop(item.resource, None)
            self._versions[item.resource] = item.change.resource_version
        elif isinstance(item, SyncEnded):
            self._versions[item.resource] = item.resource_version
            decisions.append(self._synced(item, now))
        return decisions

    def _count(self, item: Observation[Any], decisions: Sequence[Decision | Notice]) -> None:
        """What a list shows to have happened is told object by object, and counted at its end."""
        if isinstance(item, SyncStarted):
            self._reconstructed[item.resource] = 0
        self._reconstructed[item.resource] += sum(
            isinstance(decision, Decision) and decision.reconstructed for decision in decisions
        )

    def _synced(self, ended: SyncEnded, now: float) -> Notice:
        since = self._unwatched_since.pop(ended.resource, now)
        details: dict[str, Any] = {
            "resource": ended.resource,
            "counts": self._fleet_now.counts(),
            "unwatchedSeconds": round(max(ended.unwatched, now - since), 3),
            "reconstructedChanges": self._reconstructed[ended.resource],
        }
        return Notice("sync.completed", now, details)

    def _batch(self, said: Sequence[Decision | Notice]) -> Batch:
        changed = self._fleet_now.changed()
        encoded = {key: None if memory is None else encode(memory) for key, memory in changed.items()}
        facts = {**self._facts, EPOCH: str(self._fleet_now.epoch)}
        return Batch(said, encoded, dict(self._versions), facts)

    async def _commit(self, term: Term) -> None:
        while True:
            batch = await self._outbox.oldest()
            delta = batch.delta(self._term, self._render, self._instance_now)
            self._outbox.number = term.next
            await term.commit(delta)
            self.published += len(delta.messages)
            self._outbox.safe()

    @property
    def _instance_now(self) -> InstanceEvents:
        if self._instance is None:
            raise RuntimeError("no leadership has begun")
        return self._instance

    def _render(self, decision: Decision) -> Any:
        return render(decision, cluster=self._settings.cluster, term=self._term, schema_base=self._settings.schema_base)


def _lost(cause: str, epoch: int, now: float) -> Notice:
    return Notice("memory.lost", now, {"cause": cause, "epoch": epoch}, ("MemoryLost", cause))
