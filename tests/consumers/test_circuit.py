"""A receiver that is down: paused, probed with one event, resumed, tries not burnt; 410; competing workers."""

import asyncio
from typing import Any

import orjson
import pytest

from consumers.control import open_control
from consumers.state import Status
from kamaji_events.broker.consume import Consumer
from tests.support.consumers import Stage, until
from tests.support.receiver import Request, receiver, response

pytestmark = pytest.mark.broker

QUICK: dict[str, Any] = {
    "delays": ["1s"],
    "tries": 50,
    "circuit": {"failures": 3, "events": 2, "probeFirst": "100ms", "probeMost": "300ms"},
    "concurrency": 2,
}


def _ids(requests: list[Request]) -> list[str]:
    return [orjson.loads(request.body)["id"] for request in requests]


async def _next_event(consumer: Consumer) -> dict[str, Any]:
    """The next operational event that was told on the exchange."""
    incoming = await anext(consumer)
    await incoming.ack()
    told = orjson.loads(incoming.body)
    assert isinstance(told, dict)
    return told


async def test_a_receiver_that_is_down_is_probed_and_then_gets_everything(scene: Stage) -> None:
    """It pauses, says so, burns few tries, resumes, says so, and nothing is lost."""
    events = [scene.event(f"e{number}", name=f"n{number}") for number in range(20)]
    async with receiver(response(503)) as hook, scene.told() as told:
        scene.write(scene.subscription(hook.url, **QUICK))
        async with scene.service():
            await scene.publish(*events)
            paused = await _next_event(told)
            assert paused["type"] == "io.clastix.kamaji.subscription.state.paused"
            assert paused["data"]["subscription"] == scene.name()
            before = len(hook.requests)
            await until(lambda: len(hook.requests) >= before + 4, hook.arrived)
            assert len(set(_ids(hook.requests[-2:]))) == 1, "one event probes"
            hook.answer = response()
            resumed = await _next_event(told)
            assert resumed["type"].endswith("state.resumed")
            await until(lambda: set(_ids(hook.requests)) == {f"e{number}" for number in range(20)}, hook.arrived)
        assert await scene.count(scene.dead()) == 0


async def test_a_pause_is_shared_and_outlives_workers(scene: Stage) -> None:
    """A second worker, and one that starts later, leave a paused subscription alone."""
    slow = QUICK | {"circuit": {"failures": 3, "events": 2, "probeFirst": "1h"}}
    async with receiver(response(500)) as hook, scene.told() as told, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, **slow))
        async with scene.service(instance="a"), scene.service(instance="b"):
            await scene.publish(*[scene.event(f"e{number}") for number in range(6)])
            await _next_event(told)
        state = await control.board.until(scene.name(), lambda state: state.status is Status.PAUSED)
        assert "500" in state.error
        hook.answer = response()
        tried = len(hook.requests)
        async with scene.service(instance="c"):
            await scene.publish(scene.event("later"))
            assert await control.resume(scene.name())
            await until(lambda: "later" in _ids(hook.requests[tried:]), hook.arrived)
            await until(lambda: {f"e{n}" for n in range(6)} <= set(_ids(hook.requests[tried:])), hook.arrived)


async def test_a_killed_prober_is_followed(scene: Stage) -> None:
    """The worker that probes dies without a word: another one probes after its claim's end, and delivers."""
    async with receiver(response(503)) as hook, scene.told() as told:
        scene.write(scene.subscription(hook.url, **(QUICK | {"timeout": "1s"})))
        async with scene.killed(instance="a"):
            await scene.publish(*[scene.event(f"e{number}") for number in range(6)])
            await _next_event(told)
            paused = len(hook.requests)
            await until(lambda: len(hook.requests) >= paused + 4, hook.arrived)
        hook.answer = response()
        async with scene.service(instance="b"):
            resumed = await _next_event(told)
            assert resumed["type"].endswith("state.resumed")
            await until(lambda: {f"e{n}" for n in range(6)} <= set(_ids(hook.requests)), hook.arrived)


async def test_gone_disables_until_a_person_resumes(scene: Stage) -> None:
    """410: told once, nothing more is sent, nothing vanishes, and a resume delivers it."""
    async with receiver(response(410)) as hook, scene.told() as told, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, **(QUICK | {"concurrency": 1})))
        async with scene.service():
            await scene.publish(*[scene.event(f"e{number}") for number in range(3)])
            gone = await _next_event(told)
            assert gone["type"].endswith("endpoint.gone")
            assert control.state(scene.name()).status is Status.DISABLED
            hook.answer = response()
            sent = len(hook.requests)
            assert await control.resume(scene.name())
            await until(lambda: set(_ids(hook.requests[sent:])) >= {"e0", "e1", "e2"}, hook.arrived)
        assert await control.waiting(scene.name()) == 0


async def test_throttling_slows_down_and_burns_no_tries(scene: Stage) -> None:
    """A 429 with Retry-After delays the event, though it has one try only."""
    answers = [response(429, headers={"retry-after": "1"}), response(429, headers={"retry-after": "1"}), response()]

    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool:
        return await answers.pop(0)(request, writer)

    async with receiver(answer) as hook:
        scene.write(scene.subscription(hook.url, tries=1))
        async with scene.service():
            await scene.publish(scene.event("a"))
            await until(lambda: len(hook.requests) == 3, hook.arrived)
        assert await scene.count(scene.dead()) == 0


async def test_a_subscriber_to_everything_whose_events_are_refused_does_not_go_round(scene: Stage) -> None:
    """A dead letter is told, but a dead letter of that is not: it would never end."""
    async with receiver(response(413)) as hook, scene.told() as told:
        everything = scene.subscription(hook.url)
        everything["filter"] = {"clusters": [scene.mark, "_"]}
        scene.write(everything)
        async with scene.service(), scene.broker.consume(scene.dead(), 10) as letters:
            await scene.publish(scene.event("a"))
            exhausted = await _next_event(told)
            assert exhausted["type"].endswith("delivery.exhausted")
            assert exhausted["data"]["event"] == "a"
            found = {(await anext(letters)).properties.message_id for _ in range(2)}
            assert found == {"a", exhausted["id"]}
            await scene.publish(scene.event("z"))
            again = await _next_event(told)
            assert again["data"]["event"] == "z"
