"""``ordering: object``: a failing event holds back its object's later ones and no other's."""

import asyncio
from collections import Counter, defaultdict

import orjson
import pytest

from consumers import record as r
from consumers.control import open_control
from kamaji_events.identity import sequence
from tests.support.consumers import Stage, until
from tests.support.receiver import Request, receiver, response

pytestmark = pytest.mark.broker


class Shop:
    """A receiver that fails chosen events so many times, and remembers what it took of whom."""

    def __init__(self, **failures: int) -> None:
        self.left = Counter(failures)
        self.taken: defaultdict[str, list[int]] = defaultdict(list)

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """500 while failures are left, else 204."""
        told = orjson.loads(request.body)
        if self.left[told["id"]] > 0:
            self.left[told["id"]] -= 1
            return await response(500)(request, writer)
        self.taken[told["kamajiname"]].append(int(told["sequence"].rpartition("-")[2]))
        return await response()(request, writer)


def _first_taken(taken: list[int]) -> list[int]:
    return list(dict.fromkeys(taken))


async def test_a_failing_event_holds_back_its_own_object_only(scene: Stage) -> None:
    """While a's first event fails, b goes on; a's arrive in order afterwards."""
    shop = Shop(a1=2)
    events = [scene.event(f"{name}{n}", name=name, n=n) for n in range(1, 6) for name in ("a", "b")]
    async with receiver(shop.answer) as hook:
        scene.write(scene.subscription(hook.url, ordering="object", tries=9))
        async with scene.service():
            await scene.publish(*events)
            await until(lambda: len(shop.taken["b"]) == 5, hook.arrived)
            assert not shop.taken["a"]
            await until(lambda: len(shop.taken["a"]) == 5, hook.arrived)
    assert dict(shop.taken) == {"a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5]}


async def test_order_survives_a_restart_with_events_held(scene: Stage) -> None:
    """Held objects are known to the next worker: the later events wait for the one in the tiers."""
    shop = Shop(a1=2)
    async with receiver(shop.answer) as hook:
        scene.write(scene.subscription(hook.url, ordering="object", tries=9, delays=["2s"]))
        async with scene.service(instance="one"):
            await scene.publish(scene.event("a1", name="a", n=1))
            await until(lambda: len(hook.requests) == 1, hook.arrived)
        await scene.publish(*[scene.event(f"a{n}", name="a", n=n) for n in range(2, 5)])
        async with scene.service(instance="two"):
            await until(lambda: len(_first_taken(shop.taken["a"])) == 4, hook.arrived)
    assert _first_taken(shop.taken["a"]) == [1, 2, 3, 4]


async def test_order_holds_while_competing_workers_come_and_go(scene: Stage) -> None:
    """Three workers, one leaves in the middle, events fail here and there: each object's order holds."""
    shop = Shop(a2=1, b1=1, c4=1)
    names = ("a", "b", "c")
    events = [scene.event(f"{name}{n}", name=name, n=n) for n in range(1, 31) for name in names]
    async with receiver(shop.answer) as hook:
        scene.write(scene.subscription(hook.url, ordering="object", tries=9, concurrency=3))
        async with scene.service(instance="stays"):
            async with scene.service(instance="leaves"):
                await scene.publish(*events[:60])
                await until(lambda: len(hook.requests) > 10, hook.arrived)
            await scene.publish(*events[60:])
            await until(lambda: all(len(_first_taken(shop.taken[name])) == 30 for name in names), hook.arrived)
    assert all(_first_taken(shop.taken[name]) == list(range(1, 31)) for name in names)


async def test_order_survives_a_pause_of_the_receiver(scene: Stage) -> None:
    """The circuit opens and closes; probes and what was given back keep the order."""
    shop = Shop()
    circuit = {"failures": 2, "events": 2, "probeFirst": "100ms", "probeMost": "200ms"}
    names = ("a", "b", "c")
    events = [scene.event(f"{name}{n}", name=name, n=n) for n in range(1, 9) for name in names]
    async with receiver(response(503)) as hook:
        scene.write(scene.subscription(hook.url, ordering="object", tries=50, circuit=circuit, concurrency=3))
        async with scene.service():
            await scene.publish(*events)
            await until(lambda: len(hook.requests) > 6, hook.arrived)
            hook.answer = shop.answer
            await until(lambda: all(len(_first_taken(shop.taken[name])) == 8 for name in names), hook.arrived)
    assert all(_first_taken(shop.taken[name]) == list(range(1, 9)) for name in names)


async def test_a_dead_letter_lets_the_later_ones_go(scene: Stage) -> None:
    """An event whose tries are used up no longer holds its object back."""
    shop = Shop(a1=99)
    async with receiver(shop.answer) as hook:
        scene.write(scene.subscription(hook.url, ordering="object", tries=2))
        async with scene.service():
            await scene.publish(*[scene.event(f"a{n}", name="a", n=n) for n in range(1, 4)])
            await until(lambda: len(shop.taken["a"]) == 2, hook.arrived)
        assert await scene.count(scene.dead()) == 1
    assert shop.taken["a"] == [2, 3]


async def test_a_held_event_that_vanished_does_not_block_for_ever(
    scene: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone purged it from the tiers: a mark through the queue finds that out and the later ones go."""
    monkeypatch.setattr("consumers.ordered.OVERDUE", 0.5)
    shop = Shop()
    async with receiver(shop.answer) as hook, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, ordering="object"))
        async with scene.service():
            lost = r.Held(
                subscription=scene.name(), at=1, object=f"uid-a-{scene.mark}", sequence=sequence(1, 1), due=1.0
            )
            await control.board.append(lost)
            await scene.publish(scene.event("a2", name="a", n=2))
            await until(lambda: shop.taken["a"] == [2], hook.arrived)
        assert control.state(scene.name()).held == {}
