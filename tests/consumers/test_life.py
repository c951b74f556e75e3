"""Reloads, removed subscriptions, new versions of queues, and brokers that go away."""

import asyncio
import logging
import os
import signal

import orjson
import pytest

from consumers.control import open_control
from consumers.dead import DeadLetters
from consumers.run import run
from kamaji_events.broker import declare
from kamaji_events.broker.topology import Queue, Topology
from kamaji_events.errors import BrokerRefused, SettingsError
from tests.support.consumers import Stage, until
from tests.support.cut_proxy import Proxy
from tests.support.receiver import Request, receiver, response

pytestmark = pytest.mark.broker


def _ids(requests: list[Request]) -> list[str]:
    return [orjson.loads(request.body)["id"] for request in requests]


async def test_a_new_file_is_in_force_without_losing_or_repeating_a_delivery(scene: Stage) -> None:
    """Another receiver from some event on: each event arrives once, at one of the two."""
    async with receiver() as first, receiver() as second, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(first.url))
        async with scene.service() as service:
            await scene.publish(*[scene.event(f"e{n}") for n in range(50)])
            await until(lambda: bool(first.requests), first.arrived)
            scene.write(scene.subscription(second.url, events=("state.*",)), scene.subscription(first.url, "new"))
            service.reload()
            await control.board.until(scene.name("new"), lambda state: state.version == 1)
            await control.board.until(scene.name(), lambda state: all("state" in key for key in state.keys))
            await scene.publish(*[scene.event(f"e{n}") for n in range(50, 100)])
            await until(lambda: bool(second.requests), second.arrived)

            def mine() -> list[str]:
                return [one for one in _ids(first.requests) if int(one[1:]) < 50] + _ids(second.requests)

            await until(lambda: len(set(mine())) == 100, second.arrived)
        assert sorted(mine()) == sorted(f"e{n}" for n in range(100))


async def test_a_file_that_cannot_be_used_leaves_the_former_one_in_force(
    scene: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """A mistake is logged and counted; deliveries go on."""
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url))
        async with scene.service(reload_interval=0.01) as service:
            valid = service.metrics.registry.get_sample_value
            scene.file.write_text("subscriptions: [{name: x, sinc: log}]", encoding="utf-8")
            while valid("kamaji_events_consumers_config_valid") == 1:
                await scene.count(scene.queue())
            assert "unknown key; did you mean 'sink'?" in caplog.text
            await scene.publish(scene.event("a"))
            await until(lambda: len(hook.requests) == 1, hook.arrived)
            assert service.ready() is None


async def test_a_removed_subscription_is_unbound_keeps_its_queue_and_can_be_pruned(
    scene: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """What waits stays and is told; nothing new comes; --prune deletes; a return finds a fresh queue."""
    off = {"enabled": False}
    async with open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(sink="log", more=off), scene.subscription(sink="log", word="stays", more=off))
        async with scene.service():
            await scene.publish(scene.event("a"))
        scene.write(scene.subscription(sink="log", word="stays", more=off))
        with caplog.at_level(logging.WARNING):
            async with scene.service():
                await scene.publish(scene.event("b"))
        assert "no longer in the file: it is unbound, 1 events wait" in caplog.text
        assert (await scene.count(scene.queue()), await scene.count(scene.queue("stays"))) == (1, 2)
        assert control.state(scene.name()).removed
        async with scene.service(prune=True):
            assert scene.name() not in control.states


async def test_prune_keeps_dead_letters_where_they_are_found(scene: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """What waits is gone, dead letters stay listed and can be sent elsewhere; the next prune forgets the rest."""
    off = {"enabled": False}
    stays = scene.subscription(sink="log", word="stays", more=off)
    async with open_control(scene.url, scene.house) as control:
        letters = DeadLetters(control)
        async with receiver(response(413)) as hook:
            scene.write(scene.subscription(hook.url), stays)
            async with scene.service():
                await scene.publish(scene.event("dead"))
                while not await scene.count(scene.dead()):
                    await scene.count(scene.queue())
        scene.write(stays)
        async with scene.service(prune=True) as service:
            value = service.metrics.registry.get_sample_value
            assert value("kamaji_events_consumers_removed_subscriptions") == 1
            assert "1 dead letters of " in caplog.text
            assert control.state(scene.name()).removed
            assert not await declare.exists(scene.broker, Queue(scene.queue()))
            assert [letter.id for letter in await letters.list(scene.name())] == ["dead"]
            with pytest.raises(BaseExceptionGroup) as raised:
                await letters.redrive(scene.name())
            assert raised.group_contains(SettingsError, match="give another one with --to")
            assert await letters.redrive(scene.name(), to=scene.name("stays")) == 1
        assert await scene.count(scene.queue("stays")) == 2
        async with scene.service(prune=True):
            assert scene.name() not in control.states
            assert not await declare.exists(scene.broker, Queue(scene.dead()))


async def test_another_group_leaves_the_subscriptions_of_this_one_alone(scene: Stage) -> None:
    """Two deployments with files of their own share a broker."""
    off = {"enabled": False}
    scene.write(scene.subscription(sink="log", more=off))
    async with scene.service():
        pass
    scene.write(scene.subscription(sink="log", word="theirs", more=off))
    async with scene.service(group="another"), open_control(scene.url, scene.house) as control:
        assert not control.state(scene.name()).removed


async def test_a_change_of_ordering_moves_to_a_new_queue_and_drains_the_old(scene: Stage) -> None:
    """What waits in the old version is delivered, what comes goes to the new one."""
    async with receiver() as hook, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, more={"enabled": False}))
        async with scene.service():
            await scene.publish(*[scene.event(f"old{n}", n=n) for n in range(5)])
        scene.write(scene.subscription(hook.url, ordering="object"))
        async with scene.service():
            assert (control.state(scene.name()).version, control.state(scene.name()).old) == (2, (1,))
            await scene.publish(*[scene.event(f"new{n}", n=10 + n) for n in range(5)])
            await until(lambda: len(hook.requests) == 10, hook.arrived)
    assert _ids(hook.requests) == [f"old{n}" for n in range(5)] + [f"new{n}" for n in range(5)]


async def test_lost_connections_come_back_and_deliveries_go_on(scene: Stage) -> None:
    """Every connection is cut twice: the service connects again and what was in flight comes again."""
    async with receiver() as hook, Proxy.to(scene.url) as proxy:
        scene.write(scene.subscription(hook.url))
        async with scene.service(amqp_url=proxy.url) as service:
            for number in range(3):
                await scene.publish(*[scene.event(f"{number}.{n}") for n in range(20)])
                await until(lambda: len(set(_ids(hook.requests))) == 20 * (number + 1), hook.arrived)  # noqa: B023
                if number < 2:
                    proxy.cut()
                    while service.serving.is_set():
                        await scene.count(scene.queue())
                    await service.serving.wait()
        assert await scene.count(scene.queue()) == 0


async def test_a_deleted_queue_is_declared_again(scene: Stage) -> None:
    """Someone deletes the queue under a running worker: it notices, and the next event arrives."""
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url))
        async with scene.service() as service:
            await declare.delete(scene.broker, Topology(queues=(Queue(scene.queue()),)))
            while service.serving.is_set():
                await scene.count(scene.dead())
            await service.serving.wait()
            await scene.publish(scene.event("a"))
            await until(lambda: len(hook.requests) == 1, hook.arrived)


async def test_a_stop_finishes_the_try_under_way(scene: Stage) -> None:
    """Graceful: the answer is waited for and the event is done with."""
    answering = response()

    async def answer(request: Request, writer: object) -> bool:
        service.stop()
        return await answering(request, writer)  # type: ignore[arg-type]

    async with receiver(answer) as hook:
        scene.write(scene.subscription(hook.url, concurrency=1))
        async with scene.service() as service:
            await scene.publish(scene.event("a"))
            await until(lambda: len(hook.requests) == 1, hook.arrived)
        assert await scene.count(scene.queue()) == 0


async def test_signals_reload_and_stop_the_service(scene: Stage) -> None:
    """SIGHUP puts the changed file in force, SIGTERM ends the run without an error."""
    async with open_control(scene.url, scene.house) as control, asyncio.TaskGroup() as tasks:
        scene.write(scene.subscription(sink="log"))
        settings = scene.made().settings
        running = tasks.create_task(run(settings, house=scene.house))
        await control.board.until(scene.name(), lambda state: state.version == 1)
        scene.write(scene.subscription(sink="log"), scene.subscription(sink="log", word="second"))
        os.kill(os.getpid(), signal.SIGHUP)
        await control.board.until(scene.name("second"), lambda state: state.version == 1)
        os.kill(os.getpid(), signal.SIGTERM)
        await running


async def test_a_start_that_cannot_succeed_says_why(scene: Stage) -> None:
    """A wrong file, an unknown sink and a wrong password are errors at once, not endless tries."""
    scene.write(scene.subscription(sink={"wehook": {}}))
    with pytest.raises(SettingsError, match="did you mean 'webhook'"):
        await run(scene.made().settings, house=scene.house)
    scene.write(scene.subscription(sink="log"))
    wrong = scene.url.replace("guest:guest", "guest:wrong")
    with pytest.raises(BrokerRefused):
        await run(scene.made(amqp_url=wrong).settings, house=scene.house)
    scene.file.unlink()
    with pytest.raises(SettingsError, match="No such file"):
        await run(scene.made().settings, house=scene.house)
