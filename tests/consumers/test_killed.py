"""The broker killed with -9 and workers killed at random: nothing is lost, copies have the same id."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import orjson
import pytest

from kamaji_events.broker.node import RabbitNode
from tests.support.consumers import Stage, new_house, settled_house, stage, until
from tests.support.receiver import Request, receiver, response

pytestmark = [pytest.mark.broker, pytest.mark.timeout(180)]


class Moody:
    """A receiver that takes an event at its third try, and remembers what it got."""

    def __init__(self) -> None:
        self.tries: Counter[str] = Counter()
        self.bodies: dict[str, set[bytes]] = {}
        self.taken: set[str] = set()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """500 twice, then 204."""
        one = orjson.loads(request.body)["id"]
        self.tries[one] += 1
        self.bodies.setdefault(one, set()).add(request.body)
        if self.tries[one] < 3:
            return await response(500)(request, writer)
        self.taken.add(one)
        return await response()(request, writer)


async def test_a_broker_killed_with_deliveries_in_flight_and_in_delay_loses_nothing(
    private_node: RabbitNode, tmp_path: Path
) -> None:
    """1,000 events, some in flight and some in the tiers, when RabbitMQ gets SIGKILL: all arrive, same bytes."""
    house = new_house()
    await settled_house(private_node.url, house)
    moody, ids = Moody(), {f"e{number}" for number in range(1000)}
    async with receiver(moody.answer) as hook, stage(private_node.url, house, tmp_path) as scene:
        patient = {"failures": 0}
        scene.write(scene.subscription(hook.url, tries=20, delays=["2s"], circuit=patient, concurrency=50))
        async with scene.service() as service:
            await private_node.settle()
            await scene.publish(*[scene.event(one, name=one) for one in sorted(ids)])
            await until(lambda: sum(moody.tries.values()) > 700, hook.arrived)
            private_node.kill()
            await private_node.start()
            await service.serving.wait()
            await until(lambda: moody.taken == ids, hook.arrived)
    assert all(len(bodies) == 1 for bodies in moody.bodies.values())


async def test_workers_killed_at_random_lose_nothing(scene: Stage) -> None:
    """Three workers are killed one after the other in the middle of their work: every event arrives."""
    moody, ids = Moody(), set[str]()
    dice = random.Random(7)  # noqa: S311 - when to kill
    async with receiver(moody.answer) as hook:
        scene.write(scene.subscription(hook.url, tries=20, circuit={"failures": 0}, concurrency=20))
        async with scene.service(instance="survivor"):
            for number in range(3):
                async with scene.killed(instance=f"victim{number}"):
                    some = [f"e{number}.{n}" for n in range(100)]
                    ids |= set(some)
                    killed_at = len(hook.requests) + dice.randint(5, 150)
                    await scene.publish(*[scene.event(one, name=one) for one in some])
                    await until(lambda: len(hook.requests) >= killed_at, hook.arrived)  # noqa: B023
            await until(lambda: moody.taken == ids, hook.arrived)
        assert await scene.count(scene.dead()) == 0
    assert all(len(bodies) == 1 for bodies in moody.bodies.values())
