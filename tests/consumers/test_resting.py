"""Retries that wait do so in the broker: a worker holds nothing of them, and may go away meanwhile."""

import asyncio
import gc
import os
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from consumers.control import open_control
from consumers.retry import SLACK
from consumers.topology import House
from kamaji_events.broker.topology import Layout
from tests.support.command import ROOT, environment
from tests.support.consumers import Stage, forget_house, settled_house, stage, until
from tests.support.rabbit import fresh
from tests.support.receiver import Receiver, Request, receiver, response

pytestmark = pytest.mark.broker

_HOURS = 3
_TIER = 8192
"""Seconds of the tier in which a delay of three hours begins."""
_WARM = 300
"""Events after which every cache and buffer has its size."""
_PATIENT: dict[str, Any] = {"delays": [f"{_HOURS}h"], "circuit": {"failures": 0}, "concurrency": 50}


@pytest.fixture
async def hall(rabbit: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage whose house has one tier for long delays."""
    house = House(Layout(fresh("k")), (1, _TIER))
    await settled_house(rabbit, house)
    async with stage(rabbit, house, tmp_path) as made:
        yield made
    await forget_house(rabbit, house)


@dataclass
class Refuser:
    """A receiver that answers 500 until it is told to take events, and keeps only when it saw which."""

    takes: bool = False
    seen: dict[str, list[float]] = field(default_factory=dict)
    attempts: set[tuple[bool, int]] = field(default_factory=set)
    """Where the body is a template's that tells it: the number of a try, and whether it was taken."""
    hook: Receiver = field(default_factory=Receiver)

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """500, or 204."""
        self.hook.requests.clear()
        body = orjson.loads(request.body)
        self.seen.setdefault(body["id"], []).append(time.time())
        self.attempts.add((self.takes, body.get("attempt", 0)))
        return await response(204 if self.takes else 500)(request, writer)


@asynccontextmanager
async def _refuser() -> AsyncIterator[Refuser]:
    made = Refuser()
    async with receiver(made.answer) as made.hook:
        yield made


async def _at_rest(scene: Stage, ids: list[str]) -> None:
    """Publish them, and wait until all that were published until now are in the tier."""
    resting = await scene.count(scene.house.layout.tier(_TIER)) + len(ids)
    await scene.publish(*[scene.event(one) for one in ids])
    while await scene.count(scene.house.layout.tier(_TIER)) < resting:
        await scene.count(scene.queue())


@dataclass(frozen=True)
class _Held:
    """What this process has in its hands."""

    bytes: int
    objects: int
    tasks: int

    @classmethod
    def now(cls) -> "_Held":
        gc.collect()
        objects, (traced, _) = len(gc.get_objects()), tracemalloc.get_traced_memory()
        return cls(traced, objects, len(asyncio.all_tasks()))


@pytest.fixture
def traced() -> Iterator[None]:
    """Memory is counted during the test."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=[pytest.mark.nightly, pytest.mark.timeout(600)])])
@pytest.mark.usefixtures("traced")
async def test_waiting_retries_are_not_in_the_workers_memory(hall: Stage, count: int) -> None:
    """Thousands wait three hours: bytes, objects and tasks are as many as with a few; a restart changes no delay."""
    ids = [f"e{number}" for number in range(count)]
    async with _refuser() as refuser:
        hall.write(hall.subscription(refuser.hook.url, **_PATIENT))
        async with hall.service():
            await _at_rest(hall, [f"w{number}" for number in range(_WARM)])
            refuser.seen.clear()
            before = _Held.now()
            await _at_rest(hall, ids)
            assert {one: len(times) for one, times in refuser.seen.items()} == dict.fromkeys(ids, 1)
            refuser.seen.clear()
            after = _Held.now()
        async with hall.service(instance="again"):
            await _at_rest(hall, ["last"])
        assert list(refuser.seen) == ["last"]
    assert after.tasks == before.tasks
    assert after.objects - before.objects < count / 10, (before, after)
    assert after.bytes - before.bytes < count * 100, (before, after)
    resting = await _resting(hall, count + _WARM + 1)
    assert set(resting) >= {*ids, "last"}
    assert set(resting.values()) == {(1, _HOURS * 3_600_000)}


async def _resting(scene: Stage, count: int) -> dict[str, tuple[int, int]]:
    """Of each event in the tier its tries, and the ms from its failure to the next one; they stay there."""
    found: dict[str, tuple[int, int]] = {}
    async with scene.broker.consume(scene.house.layout.tier(_TIER), count) as consumer:
        while len(found) < count:
            headers = (incoming := await anext(consumer)).headers
            waits = headers["kamaji-not-before"] - headers["kamaji-first-failure"]
            found[incoming.properties.message_id or ""] = (headers["kamaji-tries"], waits)
    return found


def _resident(process: asyncio.subprocess.Process) -> int:
    """Bytes of memory that the system counts to it."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def _process(scene: Stage, **env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The service as a user runs it."""
    given = {
        "AMQP_URL": scene.url,
        "KAMAJI_EVENTS_PREFIX": scene.house.layout.prefix,
        "KAMAJI_EVENTS_SUBSCRIPTIONS": str(scene.file),
        "KAMAJI_EVENTS_ALLOW": '["127.0.0.1/32"]',
        "KAMAJI_EVENTS_HEALTH_PORT": "0",
        "KAMAJI_EVENTS_LOG_LEVEL": "warning",
        **env,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kamaji_events", "consumers", "run"),
        cwd=ROOT,
        env=environment(given),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        assert await process.wait() == 0


@pytest.mark.nightly
@pytest.mark.timeout(600)
async def test_a_process_stays_as_large_as_it_is_while_10_000_retries_wait(rabbit: str, tmp_path: Path) -> None:
    """What the system counts to a worker grows by less than a tenth of what the events would take."""
    house = House(Layout(fresh("k")))
    await settled_house(rabbit, house)
    async with _refuser() as refuser, stage(rabbit, house, tmp_path) as scene:
        scene.write(scene.subscription(refuser.hook.url, **_PATIENT))
        async with _process(scene) as process:
            async with open_control(rabbit, house) as control:
                await control.board.until(scene.name(), lambda state: state.version == 1)
            await _at_rest(scene, [f"w{number}" for number in range(2_000)])
            before = _resident(process)
            await _at_rest(scene, [f"e{number}" for number in range(10_000)])
            assert _resident(process) - before < 5_000_000
    await forget_house(rabbit, house)


async def test_delays_go_on_while_no_worker_runs(scene: Stage) -> None:
    """Hops and tries are the message's own: after a restart none comes early, each once more, as its second try."""
    ids, delay = {f"e{number}" for number in range(300)}, 4.0
    async with _refuser() as refuser:
        attempt = {"inline": '{"id": "{{ event.id }}", "attempt": {{ attempt }}}'}
        sink = {"webhook": {"url": refuser.hook.url, "template": attempt}}
        scene.write(scene.subscription(sink=sink, **_PATIENT | {"delays": [f"{delay:g}s"]}))
        async with scene.service():
            await scene.publish(*[scene.event(one) for one in sorted(ids)])
            await until(lambda: set(refuser.seen) == ids, refuser.hook.arrived)
        refuser.takes = True
        async with scene.service(instance="again"):
            await until(lambda: all(len(times) > 1 for times in refuser.seen.values()), refuser.hook.arrived)
        assert await scene.count(scene.queue()) + await scene.count(scene.dead()) == 0
    assert all(second - first >= delay - SLACK for first, second in refuser.seen.values())
    assert refuser.attempts == {(False, 1), (True, 2)}
