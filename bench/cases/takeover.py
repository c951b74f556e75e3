"""Takeover: the leader dies in a storm; until the standby publishes."""

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from http import HTTPStatus

import aiohttp
import orjson

from bench.child import Child
from bench.fleet import watched
from bench.ground import Ground
from bench.measure import Case, Sample, Target
from bench.tap import Arrival, Tap, tapped
from bench.upgrades import EVENTS
from tests.support.cut_proxy import Proxy

__all__ = ["cases"]

_PORT = re.compile(r"health and metrics on port (\d+)")
_SPREAD = 20.0


def cases(ground: Ground) -> list[Case]:
    """SIGKILL of the leader's process; and of its whole node, which says no goodbye."""
    count = ground.size(1000, 30)
    heartbeat = ground.size(5, 1)

    async def by_sigkill() -> Sample:
        async with _storm(ground, count) as (leader, standby, tap):
            leader.signal(signal.SIGKILL)
            return await _until_published(standby, tap)

    async def of_the_node() -> Sample:
        async with (
            Proxy.to(await ground.url()) as proxy,
            _storm(ground, count, url=proxy.url, heartbeat=heartbeat) as (leader, standby, tap),
        ):
            proxy.swallow()
            leader.signal(signal.SIGSTOP)
            sample = await _until_published(standby, tap)
            leader.signal(signal.SIGKILL)
            return sample

    split = [Target("until_leading_s"), Target("until_said_s")]
    parts = (
        "until_leading_s: the broker gave the token and the journal was read; until_said_s: state.leading is on the "
        "exchange; until_event_s: the first event of an upgrade is"
    )
    return [
        Case(
            "takeover: SIGKILL",
            f"seconds after SIGKILL of the leader, {count} upgrades under way; {parts}",
            by_sigkill,
            {},
            [Target("until_event_s", "<=", 2.0), *split],
            rounds=3,
        ),
        Case(
            "takeover: node gone",
            f"the same, when the leader's node vanishes without a word (a proxy swallows), heartbeat {heartbeat} s",
            of_the_node,
            {},
            [Target("until_event_s", "<=", 20.0), *split],
            rounds=2,
        ),
    ]


@asynccontextmanager
async def _storm(
    ground: Ground, count: int, *, url: str | None = None, heartbeat: int = 5
) -> AsyncIterator[tuple[Child, Child, Tap]]:
    """A leader that publishes a storm, and a standby that is ready."""
    beat = str(heartbeat)
    async with (
        watched(ground, count, spread=_SPREAD, url=url, heartbeat=beat) as fleet,
        ground.publisher(fleet.cluster, fleet.kubeconfig, heartbeat=beat) as standby,
        tapped(ground, [f"*.*.*.{fleet.cluster}.#"]) as tap,
    ):
        await _ready(standby)
        await fleet.api.ask("go", speed=1.0)
        await tap.until(_of_an_upgrade, count=max(1, count * EVENTS // 20))
        yield fleet.publisher, standby, tap


def _of_an_upgrade(one: Arrival) -> bool:
    return one.name.startswith("upgrade.")


async def _ready(standby: Child) -> None:
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while not await _answers(session, standby):  # noqa: ASYNC110 - another process: nothing to wait on
            await asyncio.sleep(0.05)


async def _answers(session: aiohttp.ClientSession, standby: Child) -> bool:
    found = _PORT.search(standby.said())
    if found is None:
        return False
    async with session.get(f"http://127.0.0.1:{found[1]}/readyz") as answer:
        return answer.status == HTTPStatus.OK


async def _until_published(standby: Child, tap: Tap) -> Sample:
    killed = time.time()
    said = await tap.until(lambda one: one.name == "state.leading" and one.at > killed)
    event = await tap.until(lambda one: _of_an_upgrade(one) and one.term == said.term)
    extra = {
        "until_leading_s": _leading_at(standby) - killed,
        "until_said_s": said.at - killed,
        "until_event_s": event.at - killed,
    }
    return Sample(1, event.at - killed, 0.0, extra)


def _leading_at(standby: Child) -> float:
    """When it noted in its log that it leads."""
    lines = (orjson.loads(line) for line in standby.said().splitlines() if line.startswith("{"))
    return next(datetime.fromisoformat(line["time"]).timestamp() for line in lines if line["message"] == "leading")
