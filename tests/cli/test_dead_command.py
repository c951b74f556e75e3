"""`dead`, `orphans` and `subscriptions list|pause|resume`, as a user runs them."""

import asyncio
import json

import pytest

from kamaji_events.broker.wire import Outgoing
from tests.support.command import kamaji_events
from tests.support.consumers import Stage, until
from tests.support.receiver import receiver, response

pytestmark = pytest.mark.broker


async def _run(scene: Stage, *words: str, code: int = 0) -> list[str]:
    """The lines of a command against the stage's installation."""
    env = {"AMQP_URL": scene.url, "KAMAJI_EVENTS_PREFIX": scene.house.layout.prefix}
    done = await asyncio.to_thread(kamaji_events, *words, env=env)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return (done.stdout if code == 0 else done.stderr).splitlines()


async def test_dead_letters_are_listed_shown_and_sent_again(scene: Stage) -> None:
    """Why it died is told; sent again the receiver gets the same bytes; the rest stays."""
    first, second = scene.event("a", event="upgrade.completed"), scene.event("b")
    name = scene.name()
    async with receiver(response(500)) as hook:
        scene.write(scene.subscription(hook.url, tries=1))
        async with scene.service(), scene.told() as told:
            await scene.publish(first, second)
            for _ in range(2):
                await (await anext(told)).ack()
            hook.answer = response(204)

            listed = [json.loads(line) for line in await _run(scene, "dead", "list", name, "--json")]
            assert {letter["id"] for letter in listed} == {"a", "b"}
            assert all("500" in letter["error"] and letter["subscription"] == name for letter in listed)
            lines = await _run(scene, "dead", "list", "-e", "upgrade.*")
            assert len(lines) == 2
            assert "upgrade.completed" in lines[0]
            shown = await _run(scene, "dead", "show", name, "a")
            assert first.body.decode() in shown

            assert "choose with" in (await _run(scene, "dead", "redrive", name, code=2))[0]
            count = len(hook.requests)
            assert await _run(scene, "dead", "redrive", name, "--id", "a") == ["1 sent again"]
            await until(lambda: len(hook.requests) > count, hook.arrived)
            assert hook.requests[-1].body == first.body

            assert await _run(scene, "dead", "purge", name, "--yes") == ["1 thrown away"]
            assert await scene.count(scene.dead()) == 0


async def test_letters_that_are_not_there(scene: Stage) -> None:
    """An unknown id, an unknown subscription, an age that is none: told in a line."""
    scene.write(scene.subscription("http://127.0.0.1:9/"))
    async with scene.service():
        assert "no letter with id 'x'" in (await _run(scene, "dead", "show", scene.name(), "x", code=2))[0]
        assert "write a duration" in (await _run(scene, "dead", "list", "--older", "long", code=2))[0]
        await _run(scene, "dead", "list", "nobody", code=1)


async def test_orphans_go_where_they_are_told(scene: Stage) -> None:
    """What lost its subscription is listed and sent to another one."""
    event = scene.event("a")
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url))
        async with scene.service():
            lost = Outgoing(event.body, f"gone-{scene.mark}", Outgoing.of(event).properties)
            await scene.publish(lost, exchange=scene.house.layout.returns)
            assert any(" a " in line for line in await _run(scene, "orphans", "list"))
            await _run(scene, "orphans", "redrive", "--to", scene.name(), "--id", "a")
            await until(lambda: len(hook.requests) == 1, hook.arrived)

    assert hook.requests[0].body == event.body


async def test_a_subscription_is_listed_paused_and_resumed(scene: Stage) -> None:
    """A person's pause holds until a person resumes it."""
    name = scene.name()
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url))
        async with scene.service():
            assert "is paused" in (await _run(scene, "subscriptions", "pause", name, "--why", "maintenance"))[0]
            facts = [json.loads(line) for line in await _run(scene, "subscriptions", "list", "--json")]
            mine = next(fact for fact in facts if fact["name"] == name)
            assert (mine["status"], mine["error"], mine["dead"]) == ("paused", "maintenance", 0)
            assert "already" in (await _run(scene, "subscriptions", "pause", name))[0]

            assert "delivered again" in (await _run(scene, "subscriptions", "resume", name))[0]
            await scene.publish(scene.event("a"))
            await until(lambda: len(hook.requests) == 1, hook.arrived)
        assert any("active" in line for line in await _run(scene, "subscriptions", "list") if name in line)
