"""A subscriptions file, a real broker, a real HTTP receiver."""

import asyncio
from pathlib import Path

import orjson
import pytest

from tests.support.consumers import stage, until
from tests.support.events import event_message
from tests.support.receiver import receiver, response

pytestmark = pytest.mark.broker


def _file(url: str, more: str = "") -> str:
    return f"""
subscriptions:
  - name: hook
    filter: {{events: ["upgrade.*"], labels: tier=gold}}
    sink: {{webhook: {{url: "{url}"}}}}
    delivery: {{delays: [1s, 1s], jitter: 0{more}}}
"""


async def test_matching_events_reach_the_receiver_as_the_bytes_that_were_published(rabbit: str, tmp_path: Path) -> None:
    """What matches arrives byte for byte, what the bindings or labels leave out does not."""
    wanted = event_message("a", event="upgrade.started", labels={"tier": "gold"})
    unlabelled = event_message("b", event="upgrade.started")
    other = event_message("c", event="state.ready", labels={"tier": "gold"})
    last = event_message("d", event="upgrade.completed", labels={"tier": "gold"})
    async with receiver() as hook, stage(rabbit, tmp_path, "hook") as scene:
        scene.write(_file(hook.url))
        async with scene.service():
            await scene.publish(wanted, unlabelled, other, last)
            await until(lambda: len(hook.requests) == 2, hook.arrived)
        assert {request.body for request in hook.requests} == {wanted.body, last.body}
        assert await scene.count(scene.house.layout.queue("hook")) == 0


async def test_a_failing_event_is_tried_again_and_then_a_dead_letter(rabbit: str, tmp_path: Path) -> None:
    """Three tries through the tiers, then the dead letters, with the same bytes and why it died."""
    event = event_message("a", event="upgrade.started", labels={"tier": "gold"})
    async with receiver(response(500)) as hook, stage(rabbit, tmp_path, "hook") as scene:
        scene.write(_file(hook.url))
        dead = scene.house.layout.dead_letters("hook")
        async with scene.service():
            await scene.publish(event)
            async with scene.broker.consume(dead, 1) as letters, asyncio.timeout(20):
                letter = await anext(letters)
                await letter.ack()
        assert len(hook.requests) == 3
        assert letter.body == event.body
        assert letter.properties.message_id == "a"
        assert letter.headers["kamaji-died-why"] == "TriesUsedUp"
        assert letter.headers["kamaji-tries"] == 2
        assert "500" in str(letter.headers["kamaji-died-error"])
        assert orjson.loads(letter.body)["id"] == "a"
