"""A reflector at work on the real server in the background of a test, and everything that it said."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from publisher.observation import (
    Change,
    Changed,
    ChangeType,
    Observation,
    Page,
    Resource,
    Status,
    SyncEnded,
    SyncItem,
    SyncStarted,
)
from publisher.watch.api import Api
from publisher.watch.credentials import find_credentials
from publisher.watch.policy import WatchPolicy
from publisher.watch.reflector import Reflector

__all__ = ["PlainDecoder", "Watching", "eventually", "watching"]

_PATIENCE = 40.0
_STEP = 0.02
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Object = dict[str, Any]


class PlainDecoder:
    """Snapshots are the objects themselves."""

    def line(self, raw: bytes) -> Change[Object]:
        """Read one watch line."""
        line = orjson.loads(raw)
        kind, object_ = ChangeType(line["type"]), line["object"]
        if kind is ChangeType.ERROR:
            status = Status(object_["code"], object_.get("reason", ""), object_.get("message", ""))
            return Change(kind, "", status=status, size=len(raw))
        metadata = object_["metadata"]
        if kind is ChangeType.BOOKMARK:
            ended = _INITIAL_EVENTS_END in (metadata.get("annotations") or {})
            return Change(kind, metadata["resourceVersion"], initial_events_end=ended, size=len(raw))
        return Change(kind, metadata["resourceVersion"], snapshot=object_, size=len(raw))

    def page(self, raw: bytes) -> Page[Object]:
        """Read one LIST answer."""
        listed = orjson.loads(raw)
        metadata = listed["metadata"]
        return Page(listed["items"] or [], metadata["resourceVersion"], metadata.get("continue", ""))


async def eventually(condition: Callable[[], object], what: str | Callable[[], object] = "") -> None:
    """Wait until something holds that another process decides; fails after a while, with what was waited for."""
    try:
        async with asyncio.timeout(_PATIENCE):
            while not condition():  # noqa: ASYNC110 - another process's state: there is nothing to be woken by
                await asyncio.sleep(_STEP)
    except TimeoutError:
        missing = what() if callable(what) else what
        raise AssertionError(f"not within {_PATIENCE:.0f} s: {missing}") from None


class Watching:
    """What a reflector said so far."""

    def __init__(self, reflector: Reflector[Object]) -> None:
        self.reflector = reflector
        self.said: list[Observation[Object]] = []
        self.known: dict[str, Object] = {}
        """Objects by name, as whoever listens must believe them to be."""
        self._listed: set[str] = set()

    async def read(self) -> None:
        """Listen until cancelled."""
        async for observation in self.reflector:
            self._take(observation)
            self.said.append(observation)

    def _take(self, observation: Observation[Object]) -> None:
        match observation:
            case SyncStarted():
                self._listed = set()
            case SyncItem(snapshot=object_):
                self._listed.add(object_["metadata"]["name"])
                self.known[object_["metadata"]["name"]] = object_
            case SyncEnded():
                self.known = {name: object_ for name, object_ in self.known.items() if name in self._listed}
            case Changed(change=Change(type=ChangeType.DELETED, snapshot=dict() as object_)):
                self.known.pop(object_["metadata"]["name"], None)
            case Changed(change=Change(snapshot=dict() as object_)):
                self.known[object_["metadata"]["name"]] = object_

    @property
    def syncs(self) -> list[SyncEnded]:
        """Completed lists."""
        return [said for said in self.said if isinstance(said, SyncEnded)]

    def changes(self, *kinds: ChangeType) -> list[Change[Object]]:
        """Changes of these types, or all."""
        changes = [said.change for said in self.said if isinstance(said, Changed)]
        return [change for change in changes if not kinds or change.type in kinds]

    async def synced(self, times: int = 1) -> None:
        """Wait for that many completed lists."""
        await eventually(lambda: len(self.syncs) >= times, lambda: (times, self.reflector.problem))

    async def knows(self, *names: str) -> None:
        """Wait until exactly these objects are known."""
        await eventually(lambda: set(self.known) == set(names), lambda: (names, self.reflector.problem))


@asynccontextmanager
async def watching(
    kubeconfig: Path,
    resource: Resource = Resource.TENANTCONTROLPLANES,
    *,
    start: str | None = None,
    policy: WatchPolicy | None = None,
) -> AsyncIterator[Watching]:
    """Watch a kind by a kubeconfig."""
    policy = policy or WatchPolicy(backoff_base=0.2, backoff_most=0.5, missing_most=0.2)
    async with (
        Api(find_credentials(kubeconfig)) as api,
        Reflector(api, resource, PlainDecoder(), start=start, policy=policy) as reflector,
        asyncio.TaskGroup() as group,
    ):
        seen = Watching(reflector)
        task = group.create_task(seen.read())
        yield seen
        task.cancel()
