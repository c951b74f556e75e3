"""A subscriptions file, a real broker, a real HTTP receiver."""

import asyncio

import pytest

from tests.support.consumers import Stage, until
from tests.support.receiver import receiver, response

pytestmark = pytest.mark.broker

GOLD = {"tier": "gold"}


async def test_matching_events_reach_the_receiver_as_the_bytes_that_were_published(scene: Stage) -> None:
    """What matches arrives byte for byte, what the bindings or labels leave out does not."""
    wanted = scene.event("a", event="upgrade.started", labels=GOLD)
    unlabelled = scene.event("b", event="upgrade.started")
    other = scene.event("c", event="state.ready", labels=GOLD)
    last = scene.event("d", event="upgrade.completed", labels=GOLD)
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url, events=("upgrade.*",), labels="tier=gold"))
        async with scene.service():
            await scene.publish(wanted, unlabelled, other, last)
            await until(lambda: len(hook.requests) == 2, hook.arrived)
        assert {request.body for request in hook.requests} == {wanted.body, last.body}
        assert await scene.count(scene.queue()) == 0


async def test_a_failing_event_is_tried_again_and_then_a_dead_letter(scene: Stage) -> None:
    """Three tries through the tiers, then the dead letters, with the same bytes and why it died."""
    event = scene.event("a")
    async with receiver(response(500)) as hook:
        scene.write(scene.subscription(hook.url))
        async with scene.service(), scene.broker.consume(scene.dead(), 1) as letters:
            await scene.publish(event)
            letter = await anext(letters)
            await letter.ack()
        assert len(hook.requests) == 3
    assert letter.body == event.body
    assert letter.properties.message_id == "a"
    assert letter.headers["kamaji-died-why"] == "TriesUsedUp"
    assert letter.headers["kamaji-tries"] == 3
    assert "500" in str(letter.headers["kamaji-died-error"])


async def test_what_is_no_event_is_a_dead_letter_at_once(scene: Stage) -> None:
    """Bytes that cannot be read never reach the receiver and stop nobody."""
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url))
        async with scene.service(), scene.broker.consume(scene.dead(), 1) as letters:
            broken = scene.event("a")
            object.__setattr__(broken, "body", b"{")
            await scene.publish(broken, scene.event("b"))
            letter = await anext(letters)
            await letter.ack()
            await until(lambda: len(hook.requests) == 1, hook.arrived)
    assert letter.headers["kamaji-died-why"] == "Unreadable"


async def test_an_event_is_kept_when_the_service_is_killed_during_a_try(scene: Stage) -> None:
    """Nothing is acknowledged before its outcome: a worker that dies in the middle gives the event back."""
    stuck = asyncio.Event()

    async def never(*_: object) -> bool:
        await stuck.wait()
        return False

    async with receiver(never) as hook:
        scene.write(scene.subscription(hook.url))
        async with scene.service(drain_timeout=0.0):
            await scene.publish(scene.event("a"))
            await until(lambda: len(hook.requests) == 1, hook.arrived)
        hook.answer = response()
        stuck.set()
        async with scene.service(instance="w2"):
            await until(lambda: len(hook.requests) == 2, hook.arrived)
    assert hook.requests[0].body == hook.requests[1].body
