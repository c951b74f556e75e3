"""One attempt of a reflector: list if it must be, then watch until the server ends it or something fails."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Generic, TypeVar

from kamaji_events.errors import ClusterError, ClusterUnavailable
from publisher.observation import (
    Change,
    Changed,
    ChangeType,
    Decoder,
    Observation,
    Resource,
    SyncEnded,
    SyncItem,
    SyncStarted,
)
from publisher.watch.ask import Ask, Target
from publisher.watch.condition import Condition
from publisher.watch.discovery import find_target
from publisher.watch.listing import newest_version, pages
from publisher.watch.position import Position
from publisher.watch.source import Source
from publisher.watch.status import AskInvalidError
from publisher.watch.stream import StreamSilentError, WatchStream
from publisher.watch.versions import is_behind

__all__ = ["Walk"]

_log = logging.getLogger(__name__)

S = TypeVar("S")
Observations = AsyncGenerator[Observation[S], None]

_LATE_MOST = 10_000
"""Changes that may overtake the end of a streaming list; beyond that the server has no such lists."""
_STREAM_TRIES = 2
"""Streaming lists that may be cut in a row; pages can be read more slowly than a server keeps a stream."""


class _ListIgnoredError(ClusterError):
    """The server took a streaming list for an ordinary watch."""


class Walk(Generic[S]):
    """Lists and watches one kind from a position, which it moves.

    Args:
        source: the API client.
        resource: the kind.
        decoder: makes snapshots of bytes.
        position: where to begin.
        condition: is told when a watch opens and when changes come.
    """

    def __init__(
        self, source: Source, resource: Resource, decoder: Decoder[S], position: Position, condition: Condition
    ) -> None:
        self._source = source
        self._resource = resource
        self._decoder = decoder
        self._position = position
        self._condition = condition
        self._policy = position.policy
        self._stats = position.stats
        self._streaming = position.policy.streaming
        self._bookmarks = False
        self._listed_once = False
        self._stream_tries = 0
        self.asked = 0.0
        """timeoutSeconds of the latest watch."""

    async def attempt(self) -> Observations[S]:
        """Observations until a watch ends.

        Raises:
            ClusterError: something failed.
            SettingsError: the credentials cannot be read any more.
        """
        target = await find_target(self._source, self._resource)
        await self._doubt(target)
        self._position.settled()
        if self._position.version is None and self._streaming and self._stream_tries < _STREAM_TRIES:
            try:
                async with aclosing(self._list_by_stream(target)) as observations:
                    async for observation in observations:
                        yield observation
            except (AskInvalidError, _ListIgnoredError) as error:
                self._streaming = False
                _log.info("%s: no streaming list here, paged ones instead (%s)", self._resource, error)
            else:
                return
        if self._position.version is None:
            async with aclosing(self._list_by_pages(target)) as observations:
                async for observation in observations:
                    yield observation
        async with aclosing(self._watch(target)) as observations:
            async for observation in observations:
                yield observation

    async def _doubt(self, target: Target) -> None:
        """Find out whether the server is behind what we remember: its watch would be accepted and silent for ever."""
        remembered = self._position.known
        if remembered is None or not self._position.unsure:
            return
        try:
            newest = await newest_version(self._source, target, self._decoder, self._stats)
        except ClusterUnavailable as error:
            _log.debug("%s: the server's version is not known: %s", self._resource, error)
            return
        if is_behind(newest, remembered):
            _log.error(
                "%s: the server is at version %s, behind %s which it once gave out: "
                "restored from a backup, or another cluster",
                self._resource,
                newest,
                remembered,
            )
            self._position.rewound()

    def _stream(self, target: Target, params: dict[str, str]) -> WatchStream[S]:
        self.asked = round(self._policy.watch_seconds * (0.8 + 0.2 * self._position.rng.random()))
        always = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": f"{self.asked:.0f}"}
        return WatchStream(
            self._source,
            Ask("watch", target.path, target, always | params),
            self._decoder,
            self._stats,
            silence=self._silence,
            lifetime=self.asked + self._policy.grace,
            on_open=self._condition.opened,
        )

    def _silence(self) -> float:
        """Seconds of silence that are still life: a server that never sent a bookmark may say nothing at all."""
        if self._position.version is None:
            return self._policy.list_silence
        return self._policy.silence if self._bookmarks else self.asked + self._policy.grace

    async def _watch(self, target: Target) -> Observations[S]:
        stream = self._stream(target, {"resourceVersion": self._position.version or ""})
        async with aclosing(stream.changes()) as changes:
            async for change in changes:
                yield self._changed(change)

    def _changed(self, change: Change[S]) -> Changed[S]:
        self._position.moved(change.resource_version)
        self._condition.seeing()
        if change.type is ChangeType.BOOKMARK:
            self._stats.bookmarks += 1
            self._bookmarks = True
        return Changed(self._resource, change)

    async def _list_by_stream(self, target: Target) -> Observations[S]:
        """A streaming list and the watch that goes on from it, in one answer."""
        params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        stream = self._stream(target, params)
        async with aclosing(stream.changes()) as changes:
            late: list[Change[S]] = []
            begun = False
            try:
                async for change in changes:
                    if not begun:
                        begun = True
                        self._stream_tries += 1
                        yield self._started()
                    if change.initial_events_end:
                        break
                    item = self._initial(change, late)
                    if item is not None:
                        yield item
                else:
                    raise ClusterUnavailable(f"{self._source.server} ended the streaming list of {target} too early")
            except StreamSilentError as error:
                raise _ListIgnoredError(str(error)) from error
            self._stats.streamed += 1
            yield self._ended(change.resource_version)
            for overtaken in late:
                yield Changed(self._resource, overtaken)
            del late
            async for change in changes:
                yield self._changed(change)

    def _initial(self, change: Change[S], late: list[Change[S]]) -> SyncItem[S] | None:
        """An object of a streaming list; live changes can overtake its end and are told after it."""
        if change.type is ChangeType.ADDED and change.snapshot is not None:
            self._stats.objects += 1
            return SyncItem(self._resource, change.snapshot)
        late.append(change)
        if change.type is ChangeType.BOOKMARK or len(late) > _LATE_MOST:
            raise _ListIgnoredError(f"{self._source.server} does not end its list of {change.type}")
        return None

    async def _list_by_pages(self, target: Target) -> Observations[S]:
        version = None
        listing = pages(self._source, target, self._decoder, self._position.page, self._stats)
        async with aclosing(listing) as read:
            async for page in read:
                self._stats.heard = asyncio.get_running_loop().time()
                if version is None:
                    yield self._started()
                version = page.resource_version
                for snapshot in page.items:
                    yield SyncItem(self._resource, snapshot)
        yield self._ended(version or "")

    def _started(self) -> SyncStarted:
        rewound, self._position.rewound_from = self._position.rewound_from, None
        return SyncStarted(self._resource, rewound)

    def _ended(self, version: str) -> SyncEnded:
        unwatched = self._condition.unwatched() if self._listed_once else 0.0
        self._listed_once = True
        self._stream_tries = 0
        self._position.listed(version, asyncio.get_running_loop().time())
        self._condition.seeing()
        return SyncEnded(self._resource, version, unwatched)
