"""A memory alarm of RabbitMQ in the middle of deliveries: what fails keeps its place until its retry is confirmed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partialmethod
from pathlib import Path

import orjson
import pytest

from kamaji_events.broker.connection import Broker
from kamaji_events.broker.node import RabbitNode
from tests.support.consumers import Stage, forget_house, new_house, settled_house, stage, until
from tests.support.receiver import Receiver, Request, receiver, response

pytestmark = [pytest.mark.broker, pytest.mark.timeout(120)]

_BAD = {f"bad{number}" for number in range(30)}
_GOOD = {f"good{number}" for number in range(70)}
_CONFIRM = 1.0
"""Seconds for a confirm where the alarm is to be longer."""


class Turnstile:
    """A receiver that answers nobody until it is opened; then the bad ones fail until it is kind."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.kind = False
        self.tries: Counter[str] = Counter()
        self.bodies: dict[str, set[bytes]] = {}
        self.taken: set[str] = set()
        self.hook = Receiver()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """500, or 204."""
        one = orjson.loads(request.body)["id"]
        await self.open.wait()
        self.tries[one] += 1
        self.bodies.setdefault(one, set()).add(request.body)
        if one in _BAD and not self.kind:
            return await response(500)(request, writer)
        self.taken.add(one)
        return await response()(request, writer)


@pytest.fixture
async def scene(private_node: RabbitNode, tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage on a broker that may be hurt."""
    house = new_house()
    await settled_house(private_node.url, house)
    async with stage(private_node.url, house, tmp_path) as made:
        yield made
    await forget_house(private_node.url, house)


@pytest.fixture
async def turnstile() -> AsyncIterator[Turnstile]:
    """A receiver."""
    made = Turnstile()
    async with receiver(made.answer) as made.hook:
        yield made


class Alarm:
    """RabbitMQ's memory alarm, to be set and lifted."""

    def __init__(self, node: RabbitNode) -> None:
        self._node = node

    async def begin(self) -> None:
        """Whoever publishes from now on is held up."""
        await self._node.ctl("set_vm_memory_high_watermark", "0.00001")

    async def end(self) -> None:
        """What was held up goes on."""
        await self._node.ctl("set_vm_memory_high_watermark", "0.6")

    async def lasts(self, seconds: float) -> None:
        """A publisher is held up, and stays so for as long."""
        while "blocked" not in (shown := await self._node.ctl("list_connections", "state")):
            assert shown
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while clock() < end:
            assert "blocked" in await self._node.ctl("list_connections", "state")


@asynccontextmanager
async def _alarm(node: RabbitNode) -> AsyncIterator[Alarm]:
    """None is left behind."""
    made = Alarm(node)
    try:
        yield made
    finally:
        await made.end()


async def _begun(scene: Stage, turnstile: Turnstile) -> None:
    """All are published, and as many as may are on their way to the receiver."""
    await scene.publish(*[scene.event(one) for one in sorted(_BAD | _GOOD)])
    await until(lambda: len(turnstile.hook.requests) == 50, turnstile.hook.arrived)


async def _failed(turnstile: Turnstile) -> None:
    """The good ones are delivered under the alarm, the bad ones each failed and wait for their retry's confirm."""
    turnstile.open.set()
    await until(lambda: sum(turnstile.tries.values()) == 100, turnstile.hook.arrived)
    assert turnstile.taken == _GOOD
    assert turnstile.tries == Counter(_BAD | _GOOD)
    turnstile.kind = True


def _write(scene: Stage, turnstile: Turnstile, *, failures: int) -> None:
    circuit = {"failures": failures, "probeFirst": "1s"}
    scene.write(scene.subscription(turnstile.hook.url, tries=9, concurrency=50, circuit=circuit))


async def test_a_worker_killed_under_an_alarm_has_acknowledged_nothing_that_failed(
    scene: Stage, turnstile: Turnstile, private_node: RabbitNode
) -> None:
    """Its retries were sent and not confirmed: all of them come again from the queue, with the same bytes."""
    _write(scene, turnstile, failures=0)
    async with _alarm(private_node) as alarm:
        async with scene.killed(instance="victim"):
            await _begun(scene, turnstile)
            await alarm.begin()
            await _failed(turnstile)
        await alarm.end()
        async with scene.service(instance="heir"):
            await until(lambda: turnstile.taken == _BAD | _GOOD, turnstile.hook.arrived)
    assert all(len(bodies) == 1 for bodies in turnstile.bodies.values())


@pytest.mark.parametrize("failures", [0, 5], ids=["no circuit", "with a circuit"])
async def test_a_worker_waits_a_long_alarm_out(
    scene: Stage, turnstile: Turnstile, private_node: RabbitNode, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than any confirm may take: the same session goes on, looks at its queues, and sends no retry twice."""
    _write(scene, turnstile, failures=failures)
    async with _alarm(private_node) as alarm, AsyncExitStack() as stack:
        with monkeypatch.context() as patch:
            patch.setattr(Broker, "publisher", partialmethod(Broker.publisher, timeout=_CONFIRM))
            service = await stack.enter_async_context(scene.service(look_interval=0.05))
        await _begun(scene, turnstile)
        await alarm.begin()
        await _failed(turnstile)
        await alarm.lasts(3 * _CONFIRM)
        assert service.serving.is_set()
        assert sum(turnstile.tries.values()) == len(_BAD | _GOOD)
        await alarm.end()
        await until(lambda: turnstile.taken == _BAD | _GOOD, turnstile.hook.arrived)
        assert service.metrics.registry.get_sample_value("kamaji_events_consumers_reconnects_total") == 0
    assert turnstile.tries == Counter(dict.fromkeys(_BAD, 2)) + Counter(_GOOD)
    assert all(len(bodies) == 1 for bodies in turnstile.bodies.values())
