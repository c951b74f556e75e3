"""List, watch, resume: one kind's observations without an end, whatever the API server does.

::

    a remembered version ── is the server behind it? ──> WATCH ──┐
    nothing remembered ── streaming list, else paged LIST ───────┴─> changes ... cut, silent, at its end ──> WATCH again
                 ^                                                                │
                 └── 410, versions went back, the CRD came back, the slow compare is due

Nothing that the server does is raised: it becomes ``problem``, a log line when that changes, and a longer wait.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Generic, Self, TypeVar

from kamaji_events.errors import ClusterError, InputError, KamajiEventsError, ResourceExpired
from publisher.observation import Decoder, Observation, Resource
from publisher.watch.backoff import Backoff
from publisher.watch.condition import Condition
from publisher.watch.policy import WatchPolicy
from publisher.watch.position import Position
from publisher.watch.source import Source
from publisher.watch.stats import WatchStats
from publisher.watch.walk import Walk

__all__ = ["Reflector"]

S = TypeVar("S")


def _now() -> float:
    return asyncio.get_running_loop().time()


class Reflector(Generic[S]):
    """Observes one kind; an async context manager and an async iterator that never ends by itself.

    Args:
        source: the API client.
        resource: the kind.
        decoder: makes snapshots of bytes.
        start: a remembered resourceVersion to go on from; without one everything is listed first.
        policy: how patient it is.
        clock: seconds since 1970, for ``last_heard``.
        sleep: waits; durations are measured with the loop's own clock.
        rng: jitter.
    """

    def __init__(
        self,
        source: Source,
        resource: Resource,
        decoder: Decoder[S],
        *,
        start: str | None = None,
        policy: WatchPolicy | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._resource = resource
        self._policy = policy or WatchPolicy()
        self._clock = clock
        self._sleep = sleep
        rng = rng or random.Random()  # noqa: S311 - jitter is no secret
        self.stats = WatchStats()
        """Counters."""
        backoff = Backoff(self._policy.backoff_base, self._policy.backoff_most, rng)
        self._condition = Condition(resource, self._policy, backoff, self.stats)
        self._position = Position(self._policy, self.stats, rng, version=start or None, page=self._policy.page)
        self._walk = Walk(source, resource, decoder, self._position, self._condition)
        self._active = 0.0
        self._handing_over = False
        self._observations: AsyncGenerator[Observation[S], None] | None = None

    async def __aenter__(self) -> Self:
        self._active = _now()
        self._position.schedule(self._active)
        self._observations = self._observe()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._observations is not None:
            await self._observations.aclose()
            self._observations = None

    def __aiter__(self) -> AsyncIterator[Observation[S]]:
        if self._observations is None:
            raise RuntimeError("the Reflector is not entered")
        return self._observations

    @property
    def problem(self) -> str | None:
        """What keeps changes from being read, in one line; None when all is well."""
        return self._condition.problem

    @property
    def version(self) -> str | None:
        """The resourceVersion up to which everything was given out; None while a list is on its way."""
        return self._position.version

    @property
    def last_heard(self) -> float | None:
        """When the server last sent a byte of a list or watch, in seconds since 1970; None when it never did."""
        return None if self.stats.heard is None else self._clock() - (_now() - self.stats.heard)

    @property
    def stuck(self) -> str | None:
        """Why only a restart can help; None otherwise. A server that is away is no reason, nor is a slow reader."""
        idle = _now() - max(self._active, self.stats.heard or 0.0)
        if self._handing_over or idle <= self._policy.stuck_after:
            return None
        return f"the watch of {self._resource} has done nothing for {idle:.0f} s"

    async def _observe(self) -> AsyncGenerator[Observation[S], None]:
        while True:
            self._active = _now()
            try:
                async with aclosing(self._walk.attempt()) as observations:
                    async for observation in observations:
                        self._handing_over = True
                        yield observation
                        self._handing_over = False
                        self._active = _now()
                wait = self._ended()
            except (ClusterError, InputError) as error:
                wait = self._failed(error)
            if wait:
                await self._sleep(wait)

    def _ended(self) -> float:
        wait = self._condition.ended(self._walk.asked)
        self._position.ended(in_time=not wait, now=_now())
        return wait

    def _failed(self, error: KamajiEventsError) -> float:
        self._position.failed(error, _now())
        return self._condition.failed(error, gently=isinstance(error, ResourceExpired))
