"""Many events wait for a receiver that is gone: publisher and other subscriptions notice nothing, nothing vanishes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson
import pytest

from consumers.control import open_control
from consumers.state import Status
from kamaji_events.broker.consume import Consumer
from tests.support.consumers import Stage, until
from tests.support.receiver import Receiver, Request, receiver, response

pytestmark = pytest.mark.broker

_TOGETHER = 5_000
"""Events that are published at once, as a publisher's batches are bounded, too."""

MANY = pytest.mark.parametrize(
    "count", [2_000, pytest.param(100_000, marks=[pytest.mark.nightly, pytest.mark.timeout(1800)])]
)


@dataclass
class Taker:
    """A receiver that keeps ids only; while it is gone it answers 410."""

    gone: bool = False
    taken: set[str] = field(default_factory=set)
    hook: Receiver = field(default_factory=Receiver)

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """204, or 410."""
        self.hook.requests.clear()
        if not self.gone:
            self.taken.add(orjson.loads(request.body)["id"])
        return await response(410 if self.gone else 204)(request, writer)

    async def has(self, wanted: set[str]) -> None:
        """Wait until it has taken all of these, and nothing that was never published."""
        await until(lambda: len(self.taken) >= len(wanted), self.hook.arrived)
        assert self.taken == wanted


@asynccontextmanager
async def _taker(*, gone: bool = False) -> AsyncIterator[Taker]:
    made = Taker(gone)
    async with receiver(made.answer) as made.hook:
        yield made


async def _publish(scene: Stage, ids: list[str]) -> None:
    """Every one of them is confirmed, otherwise this raises."""
    for start in range(0, len(ids), _TOGETHER):
        await scene.publish(*[scene.event(one, seconds=None) for one in ids[start : start + _TOGETHER]])


async def _left(scene: Stage) -> int:
    """What still waits, or died."""
    return sum([await scene.count(queue(word)) for word in ("well", "away") for queue in (scene.queue, scene.dead)])


async def _told(told: Consumer, word: str) -> None:
    """Wait until the consumers tell this."""
    async for incoming in told:
        await incoming.ack()
        if orjson.loads(incoming.body)["type"].endswith(word):
            return


@MANY
async def test_events_that_wait_for_a_disabled_subscription_touch_nobody_else(scene: Stage, count: int) -> None:
    """After a 410 all wait in one queue, none in a worker's hand; the neighbour gets all; a resume delivers each."""
    ids = [f"e{number}" for number in range(count)]
    async with (
        _taker() as well,
        _taker(gone=True) as away,
        open_control(scene.url, scene.house) as control,
    ):
        scene.write(
            scene.subscription(well.hook.url, "well", concurrency=50),
            scene.subscription(away.hook.url, "away", concurrency=50),
        )
        async with scene.service() as service:
            await scene.publish(scene.event("first", seconds=None))
            await control.board.until(scene.name("away"), lambda state: state.status is Status.DISABLED)
            await _publish(scene, ids)
            await well.has({"first", *ids})
            assert await scene.count(scene.queue("away")) == count + 1
            assert control.state(scene.name("away")).suspended is None
            assert service.ready() is None
            away.gone = False
            assert await control.resume(scene.name("away"))
            await away.has({"first", *ids})
        assert await _left(scene) == 0


@MANY
async def test_over_its_quota_a_disabled_subscription_is_spared_and_gets_all_later(
    scene: Stage, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Past the quota nothing more gathers in its queue; the neighbour gets all; a resume delivers the history, too."""
    ids = [f"e{number}" for number in range(count)]
    few, rest = ids[: count // 4], ids[count // 4 :]
    async with (
        _taker() as well,
        _taker(gone=True) as away,
        scene.told() as told,
        open_control(scene.url, scene.house) as control,
    ):
        quota = {"messages": count // 8}
        scene.write(
            scene.subscription(well.hook.url, "well", concurrency=50),
            scene.subscription(away.hook.url, "away", concurrency=50, quota=quota),
        )
        async with scene.service(look_interval=0.05):
            await _publish(scene, few)
            await _told(told, "state.suspended")  # said once it is unbound
            await control.board.until(scene.name("away"), lambda state: state.suspended is not None)
            assert control.state(scene.name("away")).status is Status.DISABLED
            waiting = await scene.count(scene.queue("away"))
            assert count // 8 < waiting <= len(few)
            await _publish(scene, rest)
            await well.has(set(ids))
            assert await scene.count(scene.queue("away")) == waiting
            away.gone = False
            assert await control.resume(scene.name("away"))
            await away.has(set(ids))
            await control.board.until(
                scene.name("away"), lambda state: state.suspended is None and state.catch_up is None
            )
            while await _left(scene):  # copies of what it has already
                await control.waiting(scene.name("away"))
    assert caplog.text.count("suspended, over its quota") == 1
