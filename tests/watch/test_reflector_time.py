"""The reflector over hours and days, in virtual time."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from kamaji_events.errors import ClusterUnavailable, ResourceExpired
from publisher.observation import Resource, SyncEnded
from publisher.watch.policy import WatchPolicy
from publisher.watch.reflector import Reflector
from tests.support.plain_decoder import PlainDecoder, Seen
from tests.support.quiet_source import QuietSource

pytestmark = pytest.mark.looptime

HOUR = 3600.0


@asynccontextmanager
async def running(
    source: QuietSource, *, start: str | None = None, policy: WatchPolicy | None = None
) -> AsyncIterator[tuple[Reflector[Seen], list[SyncEnded]]]:
    """A reflector that somebody reads, and the lists that it completed."""
    synced: list[SyncEnded] = []
    resource = Resource.TENANTCONTROLPLANES
    loop = asyncio.get_running_loop()
    rng = random.Random(1)  # noqa: S311 - jitter
    async with Reflector(
        source, resource, PlainDecoder(), start=start, policy=policy, rng=rng, clock=loop.time
    ) as reading:

        async def read() -> None:
            nonlocal synced
            async for observation in reading:
                synced += [observation] if isinstance(observation, SyncEnded) else []

        async with asyncio.TaskGroup() as group:
            reader = group.create_task(read())
            yield reading, synced
            reader.cancel()


async def test_a_quiet_day_lists_for_the_slow_compare_only() -> None:
    """24 hours without a change: a list at the start and one each 6 hours, a watch each few minutes, no failure."""
    source = QuietSource()
    async with running(source) as (reading, synced):
        await asyncio.sleep(24 * HOUR)
        assert 4 <= len(synced) <= 5
        assert all(ended.unwatched == 0 for ended in synced)
        assert (reading.stats.failures, reading.stats.reconnects, reading.stats.relists) == (0, 0, 0)
        assert 24 * 12 <= reading.stats.watches <= 24 * 15 + 5
        assert reading.problem is None
    assert len(source.times("list")) == len(synced) - 1, "a small look before each compare"


async def test_a_quiet_day_without_bookmarks_is_no_trouble_either() -> None:
    """A server that never sends a bookmark may be silent for a whole watch."""
    source = QuietSource(bookmark_every=None)
    async with running(source) as (reading, synced):
        await asyncio.sleep(24 * HOUR)
        assert 4 <= len(synced) <= 5
        assert all(ended.unwatched == 0 for ended in synced)
        assert (reading.stats.silent, reading.stats.failures) == (0, 0)


async def test_a_half_open_connection_is_noticed_within_the_bound() -> None:
    """Once bookmarks were seen, silence of 150 s is death: the watch is opened anew, and who watches knows."""
    source = QuietSource()
    async with running(source) as (reading, synced):
        await asyncio.sleep(130)
        source.dead = True
        await asyncio.sleep(150)
        assert reading.stats.silent == 1
        assert len(synced) == 1
        heard = reading.last_heard
        assert heard is not None
        assert heard <= asyncio.get_running_loop().time()


async def test_a_half_open_connection_without_bookmarks_is_noticed_too() -> None:
    """Where no bookmarks come the watch's own timeout and a grace are the bound."""
    source = QuietSource(bookmark_every=None)
    source.dead = True
    async with running(source) as (reading, _):
        await asyncio.sleep(331)
        assert reading.stats.silent == 1
        assert reading.stats.watches == 2


async def test_who_did_not_watch_is_told_with_the_list() -> None:
    """After an outage that ends in 410 the list tells for how long nobody watched."""
    source = QuietSource()
    async with running(source) as (reading, synced):
        await asyncio.sleep(100)
        source.failure = ClusterUnavailable("away")
        source.deaf = True
        await asyncio.sleep(HOUR)
        assert str(reading.problem) == "away"
        source.failure, source.deaf, source.watch_failure = None, False, ResourceExpired("too old")
        await asyncio.sleep(60)
        source.watch_failure = None
        await asyncio.sleep(60)
        assert reading.problem is None
    assert len(synced) == 2
    assert HOUR < synced[1].unwatched < HOUR + 300


async def test_failures_in_a_row_wait_longer_and_longer() -> None:
    """A server that is away is asked about twice a minute, never in a storm, and for ever."""
    source = QuietSource()
    source.failure = ClusterUnavailable("away")
    async with running(source):
        await asyncio.sleep(HOUR)
    times = source.times("get")
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[0] <= 1
    assert all(15 <= pause <= 30 for pause in pauses[5:])


async def test_a_server_that_cuts_at_once_is_not_stormed() -> None:
    """Watches that are accepted and ended at once count as failures, however often they are accepted."""
    source = QuietSource()
    async with running(source) as (reading, synced):
        source.deaf = True
        await asyncio.sleep(HOUR)
        assert 120 <= reading.stats.watches <= 260
        assert reading.problem == "the server accepts the watch and ends it at once"
    assert len(synced) == 1


async def test_410_again_and_again_is_no_relist_storm() -> None:
    """The first list comes at once, the next ones at growing distances."""
    source = QuietSource()
    policy = WatchPolicy(streaming=False)
    source.watch_failure = ResourceExpired("too old")
    async with running(source, start="50", policy=policy) as (_, synced):
        await asyncio.sleep(1)
        assert 1 <= len(synced) <= 2
        await asyncio.sleep(HOUR)
        assert len(synced) <= 260


async def test_only_idleness_of_its_own_making_counts_as_stuck() -> None:
    """A server that is away for hours is no reason to restart the process."""
    source = QuietSource()
    source.failure = ClusterUnavailable("away")
    async with running(source) as (reading, _):
        for _ in range(12):
            await asyncio.sleep(HOUR)
            assert reading.stuck is None


async def test_a_remembered_version_is_doubted_before_it_is_watched() -> None:
    """One small look before the first watch, none before the following ones that end in time."""
    source = QuietSource()
    async with running(source, start="90") as (reading, synced):
        await asyncio.sleep(HOUR)
        assert synced == []
        assert reading.stats.watches > 10
    assert len(source.times("list", limit="1")) == 1


async def test_a_reader_that_takes_its_time_is_not_the_servers_silence() -> None:
    """Waiting for room in a buffer, within a list, is no reason to call the watch dead."""
    source = QuietSource()
    source.objects = {str(n): n for n in range(5)}
    async with Reflector(source, Resource.TENANTCONTROLPLANES, PlainDecoder()) as reading:
        async for observation in reading:
            if isinstance(observation, SyncEnded):
                break
            await asyncio.sleep(40)
        assert (reading.stats.silent, reading.stats.failures) == (0, 0)


async def test_a_list_that_is_read_too_slowly_for_a_stream_is_read_in_pages() -> None:
    """A streaming list that outlives its server's patience twice is no longer tried."""
    source = QuietSource()
    source.objects = {str(n): n for n in range(5)}
    async with Reflector(source, Resource.TENANTCONTROLPLANES, PlainDecoder()) as reading:
        async for observation in reading:
            if isinstance(observation, SyncEnded):
                break
            await asyncio.sleep(200)
        assert (reading.stats.streamed, reading.stats.syncs) == (0, 1)
    assert len(source.times("watch", sendInitialEvents="true")) == 2
