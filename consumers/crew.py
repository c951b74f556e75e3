"""The crew: one worker for each subscription of the file, exchanged when the file changes.

A subscription that a new file leaves as it was is not touched. A changed one is drained first: what its worker has
in hand is finished, then the topology follows, then the new worker starts; its events wait in the queue meanwhile.
"""

import asyncio
import logging
from dataclasses import dataclass, replace

from consumers.config import Config, Subscription
from consumers.desk import Desk
from consumers.life import prune, reconcile, remove_missing
from consumers.ordered import OrderedDesk
from consumers.policy import Ordering
from consumers.sinks.base import Sink
from consumers.sinks.context import SinkContext
from consumers.sinks.registry import build
from consumers.watchman import Watchman
from consumers.wires import Wires
from consumers.worker import Worker

__all__ = ["Crew", "make_sink"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Post:
    """A worker at work."""

    subscription: Subscription
    worker: Worker
    task: asyncio.Task[None]


class Crew:
    """Runs workers in a task group.

    Args:
        wires: the session.
        tasks: where workers run; a worker's error ends the session.
        group: see ``ConsumerSettings``.
        context: what sinks are given besides their subscription's name.
        look: seconds between looks at each queue.
    """

    def __init__(
        self, wires: Wires, tasks: asyncio.TaskGroup, *, group: str, context: SinkContext, look: float = 15.0
    ) -> None:
        self._wires = wires
        self._tasks = tasks
        self._group = group
        self._context = context
        self._look = look
        self._posts: dict[str, _Post] = {}
        self._all: set[asyncio.Task[None]] = set()

    async def apply(self, config: Config, *, prune_removed: bool = False) -> None:
        """Make the workers what the file says.

        Raises:
            SettingsError: a sink's settings cannot be used; nothing was changed.
        """
        wanted = {subscription.name: subscription for subscription in config.subscriptions}
        new = {name: one for name, one in wanted.items() if not self._works(name, one)}
        sinks = await self._sinks(new)
        leaving = [name for name in self._posts if name in new or name not in wanted]
        await self._drain(leaving)
        for name, subscription in new.items():
            await reconcile(self._wires, subscription, group=self._group)
            self._start(subscription, sinks[name])
        removed = await remove_missing(self._wires, config, group=self._group)
        self._wires.metrics.removed.set(len(removed))
        if prune_removed:
            self._wires.metrics.removed.set(await prune(self._wires, removed))

    def _works(self, name: str, subscription: Subscription) -> bool:
        return name in self._posts and self._posts[name].subscription == subscription

    async def _sinks(self, new: dict[str, Subscription]) -> dict[str, Sink]:
        """All of them, or none: a bad one must not leave the others open."""
        made: dict[str, Sink] = {}
        try:
            for name, subscription in new.items():
                made[name] = make_sink(subscription, self._context)
        except BaseException:
            for sink in made.values():
                await sink.aclose()
            raise
        return made

    def _start(self, subscription: Subscription, sink: Sink) -> None:
        desk = _desk(subscription, sink, self._wires)
        worker, watchman = Worker(desk, self._wires), Watchman(desk, self._wires, look=self._look)
        task = self._tasks.create_task(self._work(worker, watchman, sink), name=f"worker {subscription.name}")
        self._all.add(task)
        task.add_done_callback(self._all.discard)
        self._posts[subscription.name] = _Post(subscription, worker, task)
        _log.info("subscription %r is served", subscription.name, extra={"subscription": subscription.name})

    async def _work(self, worker: Worker, watchman: Watchman, sink: Sink) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(watchman.run())
                await worker.run()
                watching.cancel()
        finally:
            await sink.aclose()

    async def _drain(self, names: list[str]) -> None:
        posts = [self._posts.pop(name) for name in names]
        for post in posts:
            post.worker.drain()
        if posts:
            await asyncio.wait([post.task for post in posts])

    async def drain(self) -> None:
        """Take nothing more; returns when everything in hand is finished."""
        await self._drain(list(self._posts))

    def abandon(self) -> None:
        """Cancel what is left; the broker gives it out again."""
        for task in self._all:
            task.cancel()


def _desk(subscription: Subscription, sink: Sink, wires: Wires) -> Desk:
    made = OrderedDesk if subscription.policy.ordering is Ordering.OBJECT else Desk
    return made(subscription, sink, wires)


def make_sink(subscription: Subscription, context: SinkContext) -> Sink:
    """The sink of a subscription.

    Raises:
        SettingsError: there is no such sink, or its settings cannot be used.
    """
    context = replace(context, subscription=subscription.name)
    return build(subscription.sink, subscription.sink_settings, where=subscription.where, context=context)
