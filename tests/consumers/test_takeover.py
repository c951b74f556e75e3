"""Catching up from the history: a worker killed midway is followed, and a history that is too short is told."""

import asyncio
from pathlib import Path

import orjson
import pytest

from consumers.control import open_control
from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from tests.support.consumers import Stage, forget_house, new_house, stage, until
from tests.support.receiver import Request, receiver, response

pytestmark = pytest.mark.broker


class Gate:
    """A receiver that answers nobody until it is opened, and remembers the bytes of each event."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.bodies: dict[str, set[bytes]] = {}

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """204, later."""
        await self.open.wait()
        self.bodies.setdefault(orjson.loads(request.body)["id"], set()).add(request.body)
        return await response()(request, writer)


async def test_a_worker_killed_while_it_catches_up_is_followed(scene: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its claim ends, another goes on from where the board says it was; all arrive, copies with the same bytes."""
    monkeypatch.setattr("consumers.catchup._LEASE", 3.0)
    monkeypatch.setattr("consumers.catchup._BREATH", 0.1)
    gate, ids = Gate(), {f"e{number}" for number in range(1500)}
    scene.write(scene.subscription(sink="log", word="first", more={"enabled": False}))
    async with scene.service():
        await scene.publish(*[scene.event(one, seconds=None) for one in sorted(ids)])
    async with receiver(gate.answer) as hook, open_control(scene.url, scene.house) as control:
        quota = {"messages": 1000}  # half of it may wait: copying pauses there, since nothing is taken
        scene.write(scene.subscription(hook.url, concurrency=50, quota=quota, more={"from": "1h"}))
        async with scene.killed(instance="victim", look_interval=0.05):
            await control.board.until(
                scene.name(), lambda state: state.catch_up is not None and state.catch_up.offset >= 0
            )
            while await scene.count(scene.queue()) < 500:
                await control.waiting(scene.name())
        left = control.state(scene.name()).catch_up
        assert left is not None
        assert left.worker.startswith("victim.")
        gate.open.set()
        async with scene.service(instance="heir", look_interval=0.05):
            await until(lambda: set(gate.bodies) == ids, hook.arrived)
            await control.board.until(scene.name(), lambda state: state.version == 1 and state.catch_up is None)
    assert all(len(bodies) == 1 for bodies in gate.bodies.values())


async def test_a_history_that_does_not_reach_back_is_told(
    rabbit: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is asked for was dropped already: an error line says from when on there is something, the rest arrives."""
    house = new_house()
    async with connect(rabbit, name="a short history") as broker:
        short = house.layout.exchange_topology(history_bytes=200_000, segment_bytes=50_000)
        await declare.apply(broker, short)
        await declare.apply(broker, house.common_topology())
    async with stage(rabbit, house, tmp_path) as scene, receiver() as hook:
        scene.write(scene.subscription(sink="log", word="first", more={"enabled": False}))
        async with scene.service():
            for batch in range(30):
                await scene.publish(*[scene.event(f"e{batch}.{n}", seconds=None) for n in range(100)])
        async with open_control(rabbit, house) as control:
            scene.write(scene.subscription(hook.url, concurrency=50, more={"from": "24h"}))
            async with scene.service(look_interval=0.05):
                await until(lambda: any(b'"e29.99"' in request.body for request in hook.requests), hook.arrived)
                await control.board.until(scene.name(), lambda state: state.version == 1 and state.catch_up is None)
    assert "the history no longer reaches back to" in caplog.text
    assert "are lost to this subscription" in caplog.text
    await forget_house(rabbit, house)
