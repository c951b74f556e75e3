"""One kind of object, listed and watched as plain JSON: what the API server said, for whoever wants all of it.

The publisher itself reads by ``publisher.watch.reflector``, which decodes only what events need.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson

from kamaji_events.errors import ClusterUnavailable, ResourceExpired
from publisher.watch.ask import METADATA_ONLY, Ask, Target
from publisher.watch.backoff import Backoff
from publisher.watch.lines import LineSplitter, LineTooLongError
from publisher.watch.source import Source

__all__ = ["Followed", "Line", "follow"]

Line = tuple[str, dict[str, Any]]
"""``LIST``, or the type of a watch line, and its object."""

_PAGE = "500"
_WATCH_SECONDS = 300
_SILENCE = 1.25 * _WATCH_SECONDS
"""Seconds without a byte after which a watch is given up for dead: a bookmark comes each minute."""
_METADATA_WATCH = METADATA_ONLY.replace("PartialObjectMetadataList", "PartialObjectMetadata")


@dataclass(frozen=True, slots=True)
class Followed:
    """What is followed."""

    target: Target
    metadata_only: bool = False
    """The server then sends ``PartialObjectMetadata``: nothing of spec, status or data."""
    selector: str = ""
    """Label selector."""
    backoff: Backoff = field(default_factory=Backoff, compare=False)

    def _ask(self, verb: str, **params: str) -> Ask:
        if self.selector:
            params["labelSelector"] = self.selector
        if verb == "watch":
            accept = _METADATA_WATCH if self.metadata_only else "application/json"
            return Ask.of("watch", self.target, accept=accept, watch="true", allowWatchBookmarks="true", **params)
        return Ask.of("list", self.target, accept=METADATA_ONLY if self.metadata_only else "application/json", **params)

    def page(self, after: str) -> Ask:
        """Ask for a page of the list."""
        return self._ask("list", limit=_PAGE, **({"continue": after} if after else {}))

    def probe(self) -> Ask:
        """Ask for the least there is, to find out whether one may."""
        return self._ask("list", limit="1")

    def watch(self, version: str) -> Ask:
        """Ask for what came after a version."""
        return self._ask("watch", resourceVersion=version, timeoutSeconds=str(_WATCH_SECONDS))


async def follow(source: Source, what: Followed) -> AsyncGenerator[Line, None]:
    """List, watch, and go on for ever; list again when the server has forgotten the last version.

    Raises:
        ClusterRefused: the right to read it is missing.
        KindMissing: there is no such kind.
    """
    version = ""
    while True:
        pause = 0.0
        try:
            async with aclosing(_once(source, what, version)) as lines:
                async for kind, object_ in lines:
                    yield kind, object_
                    version = "" if kind == "ERROR" else object_["metadata"]["resourceVersion"]
                    what.backoff.worked()
            pause = what.backoff.failed() if what.backoff.failures else 0.0
            what.backoff.failures += 1
        except ResourceExpired:
            version = ""
        except (ClusterUnavailable, LineTooLongError, orjson.JSONDecodeError) as error:
            pause = what.backoff.failed(asked=getattr(error, "retry_after", None))
        await asyncio.sleep(pause)


async def _once(source: Source, what: Followed, version: str) -> AsyncGenerator[Line, None]:
    """A list when there is no version to go on from, then one watch until its end or its ERROR line."""
    if not version:
        listed = await _list(source, what)
        version = listed["metadata"]["resourceVersion"]
        yield "LIST", listed
    async with aclosing(_watch(source, what, version)) as lines:
        async for kind, object_ in lines:
            yield kind, object_
            if kind == "ERROR":
                return


async def _list(source: Source, what: Followed) -> dict[str, Any]:
    """All pages as one list, as of the first page's version."""
    listed: dict[str, Any] = orjson.loads(await source.get(what.page("")))
    items = list(listed.get("items") or ())
    after = listed["metadata"].pop("continue", "")
    while after:
        page = orjson.loads(await source.get(what.page(after)))
        items += page.get("items") or ()
        after = page["metadata"].get("continue", "")
    listed["metadata"].pop("remainingItemCount", None)
    return listed | {"items": items}


async def _watch(source: Source, what: Followed, version: str) -> AsyncGenerator[Line, None]:
    splitter = LineSplitter()
    async with source.stream(what.watch(version)) as chunks:
        while chunk := await _next(chunks):
            for raw in splitter.feed(chunk):
                line = orjson.loads(raw)
                yield line["type"], line["object"]


async def _next(chunks: AsyncIterator[bytes]) -> bytes:
    """The next chunk, empty at the end; a stream that has been silent too long is dead."""
    try:
        async with asyncio.timeout(_SILENCE):
            return await anext(chunks, b"")
    except TimeoutError as error:
        raise ClusterUnavailable("a watch has been silent for too long") from error
