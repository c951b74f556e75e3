"""Paged LISTs: never more than one page in memory, begun again when the server forgot where we were."""

from collections.abc import AsyncGenerator
from typing import TypeVar

from kamaji_events.errors import ClusterUnavailable
from publisher.observation import Decoder, Page
from publisher.watch.ask import Ask, Target
from publisher.watch.source import Source
from publisher.watch.stats import WatchStats

__all__ = ["newest_version", "pages"]

S = TypeVar("S")


async def pages(
    source: Source, target: Target, decoder: Decoder[S], size: int, stats: WatchStats
) -> AsyncGenerator[Page[S], None]:
    """Every page of a consistent list, all as of one resourceVersion.

    Args:
        source: the API server.
        target: what to list.
        decoder: reads the pages.
        size: objects of a page; 0 asks for all at once.
        stats: counts.

    Raises:
        ResourceExpired: compaction overtook the list: begin again, better with larger pages.
        ClusterError: the server did not answer as asked.
    """
    params = {"limit": str(size)} if size else {}
    while True:
        page = await _page(source, Ask("list", target.path, target, params), decoder, stats)
        yield page
        if not page.next:
            return
        params["continue"] = page.next


async def newest_version(source: Source, target: Target, decoder: Decoder[S], stats: WatchStats) -> str:
    """The resourceVersion that the server is at, by the smallest consistent list.

    Raises:
        ClusterError: the server did not answer as asked.
    """
    ask = Ask("list", target.path, target, {"limit": "1"})
    return (await _page(source, ask, decoder, stats)).resource_version


async def _page(source: Source, ask: Ask, decoder: Decoder[S], stats: WatchStats) -> Page[S]:
    body = await source.get(ask)
    stats.bytes += len(body)
    try:
        page = decoder.page(body)
    except ValueError as error:
        stats.broken += 1
        raise ClusterUnavailable(f"{source.server} answered list {ask.target} with something else") from error
    stats.objects += len(page.items)
    stats.garbage += page.broken
    return page
