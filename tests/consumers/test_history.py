"""Quotas, catching up from the history, and publishers that fall silent."""

from typing import Any

import orjson
import pytest

from consumers.control import open_control
from consumers.heartbeat import Heartbeats
from consumers.metrics import ConsumerMetrics
from consumers.policy import Quota
from consumers.quota import over_quota, room
from consumers.state import Status
from kamaji_events.catalogue import Kind
from kamaji_events.event import Event
from kamaji_events.instance import InstanceEvents
from tests.support.consumers import Stage, until
from tests.support.receiver import Request, receiver

LOOKS: dict[str, Any] = {"look_interval": 0.05}


def _ids(requests: list[Request]) -> list[str]:
    return [orjson.loads(request.body)["id"] for request in requests]


@pytest.mark.broker
async def test_a_new_subscription_can_start_from_the_history(scene: Stage) -> None:
    """``from: 1h``: what was published before it existed arrives, filtered, together with what comes now."""
    scene.write(scene.subscription(sink="log", word="first"))
    old = [scene.event(f"old{n}", seconds=None) for n in range(5)]
    ancient = scene.event("ancient")
    async with scene.service():
        await scene.publish(ancient, *old, scene.event("no", event="spec.changed", seconds=None))
    async with receiver() as hook, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, events=("state.*",), more={"from": "1h"}))
        async with scene.service(**LOOKS):
            await scene.publish(scene.event("new", seconds=None))
            await until(lambda: len(set(_ids(hook.requests))) == 6, hook.arrived)
            await control.board.until(scene.name(), lambda state: state.version == 1 and state.catch_up is None)
    assert set(_ids(hook.requests)) == {f"old{n}" for n in range(5)} | {"new"}


@pytest.mark.broker
async def test_over_its_quota_a_subscription_is_unbound_and_later_catches_up(scene: Stage) -> None:
    """What came meanwhile is not in its queue, the broker's disk is spared, and nothing is missing in the end."""
    async with receiver() as hook, scene.told() as told, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, quota={"messages": 10}))
        async with scene.service(**LOOKS):
            await control.pause(scene.name(), "a holiday")
            await scene.publish(*[scene.event(f"a{n}", seconds=None) for n in range(15)])
            await control.board.until(scene.name(), lambda state: state.suspended is not None)
            suspended = await anext(told)
            await suspended.ack()
            assert orjson.loads(suspended.body)["type"].endswith("subscription.state.suspended")
            await scene.publish(*[scene.event(f"b{n}", seconds=None) for n in range(30)])
            assert await control.waiting(scene.name()) == 15
            assert control.state(scene.name()).status is Status.PAUSED
            await control.resume(scene.name())
            wanted = {f"a{n}" for n in range(15)} | {f"b{n}" for n in range(30)}
            await until(lambda: set(_ids(hook.requests)) >= wanted, hook.arrived)
            await control.board.until(scene.name(), lambda state: state.suspended is None and state.catch_up is None)
            await scene.publish(scene.event("after", seconds=None))
            await until(lambda: "after" in _ids(hook.requests), hook.arrived)


@pytest.mark.broker
async def test_order_holds_while_catching_up(scene: Stage) -> None:
    """With ordering by object the events of today wait for those from the history."""
    async with receiver() as hook, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, ordering="object", quota={"messages": 5}))
        async with scene.service(**LOOKS):
            await control.pause(scene.name())
            await scene.publish(*[scene.event(f"a{n}", n=n, seconds=None) for n in range(1, 8)])
            await control.board.until(scene.name(), lambda state: state.suspended is not None)
            await scene.publish(*[scene.event(f"a{n}", n=n, seconds=None) for n in range(8, 21)])
            await control.resume(scene.name())
            await until(lambda: len(set(_ids(hook.requests))) == 20, hook.arrived)
    assert list(dict.fromkeys(_ids(hook.requests))) == [f"a{n}" for n in range(1, 21)]


@pytest.mark.parametrize(
    ("quota", "waiting", "idle", "over"),
    [
        (Quota(messages=10, bytes=None), 10, 0, False),
        (Quota(messages=10, bytes=None), 11, 0, True),
        (Quota(messages=None, bytes=2000), 3, 0, True),
        (Quota(messages=None, bytes=3000), 3, 0, False),
        (Quota(messages=None, bytes=None, age=60), 1, 61, True),
        (Quota(messages=None, bytes=None, age=60), 0, 61, False),
        (Quota(messages=None, bytes=None, age=None), 10**9, 10**9, False),
    ],
)
def test_quota(quota: Quota, waiting: int, idle: float, over: bool) -> None:  # noqa: FBT001 - a column of the table
    """Messages, bytes by their mean size, and age while events wait."""
    assert (over_quota(quota, waiting=waiting, mean_bytes=1000.0, idle=idle) is not None) is over


@pytest.mark.parametrize(
    ("quota", "mean", "copies"),
    [
        (Quota(messages=100, bytes=None), 1000, 50),
        (Quota(messages=None, bytes=10_000), 1000, 5),
        (Quota(messages=100, bytes=10_000), 1000, 5),
        (Quota(messages=100, bytes=10_000), 0, 50),
        (Quota(messages=1, bytes=None), 1000, 0),
    ],
)
def test_copies_from_the_history_leave_half_the_quota_free(quota: Quota, mean: float, copies: int) -> None:
    """Whichever bound is the nearer one; bytes count once a copy has told its size."""
    assert room(quota, mean) == copies


def test_a_silent_publisher_raises_the_alarm_once_until_it_is_heard_again(caplog: pytest.LogCaptureFixture) -> None:
    """Silence past the limit is an error line and a metric, for each cluster on its own."""
    now = [1000.0]
    metrics = ConsumerMetrics()
    value = metrics.registry.get_sample_value
    beats = Heartbeats(180.0, metrics, clusters=("expected",), clock=lambda: now[0])
    beats.heard("eu-1")
    now[0] += 179
    assert beats.check() == frozenset()
    beats.heard("us-1")
    now[0] += 2
    assert beats.check() == {"eu-1", "expected"}
    assert beats.check() == frozenset()
    assert value("kamaji_events_consumers_publisher_silent", {"cluster": "eu-1"}) == 1
    assert value("kamaji_events_consumers_publisher_silent", {"cluster": "us-1"}) == 0
    assert "cluster eu-1 has been silent for 181 s" in caplog.text
    beats.heard("eu-1")
    assert beats.silent == {"expected"}
    assert value("kamaji_events_consumers_publisher_silent", {"cluster": "eu-1"}) == 0


def test_time_without_a_connection_is_not_the_publishers_silence() -> None:
    """After a broker's outage silence counts from the new connection on."""
    now = [0.0]
    beats = Heartbeats(180.0, ConsumerMetrics(), clock=lambda: now[0])
    beats.heard("eu-1")
    now[0] += 1000
    beats.connected()
    assert beats.check() == frozenset()
    now[0] += 181
    assert beats.check() == {"eu-1"}


@pytest.mark.broker
async def test_a_publisher_is_heard_on_the_exchange(scene: Stage) -> None:
    """An alive event makes the cluster known, its absence raises the alarm."""
    scene.write(scene.subscription(sink="log"))
    publisher = InstanceEvents(Kind.PUBLISHER, cluster=scene.mark, instance="p", term=1, carry_term=True)
    async with scene.service(alive_limit=0.2) as service:
        await scene.publish(publisher.message("state.alive", 1_764_590_000.0, counts={}))
        value = service.metrics.registry.get_sample_value
        while value("kamaji_events_consumers_publisher_silent", {"cluster": scene.mark}) != 1:
            await scene.count(scene.queue())
        assert service.heartbeats.silent == {scene.mark}


@pytest.mark.broker
async def test_a_silent_publisher_is_told_once_to_whoever_subscribes_to_it(scene: Stage) -> None:
    """Two workers notice, one event comes; when the publisher is heard again that is told once too."""
    publisher = InstanceEvents(Kind.PUBLISHER, cluster=scene.mark, instance="p", term=1, carry_term=True)
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url, events=("heartbeat.*",)))
        async with scene.service(alive_limit=0.2) as one, scene.service(alive_limit=0.2) as two:
            await scene.publish(publisher.message("state.alive", 1_764_590_000.0, counts={}))
            await until(lambda: len(hook.requests) > 0, hook.arrived)
            while not (one.heartbeats.silent and two.heartbeats.silent):
                await scene.count(scene.queue())
            await scene.publish(publisher.message("state.alive", 1_764_590_060.0, counts={}))
            await until(lambda: len(hook.requests) > 1, hook.arrived)

    missed, resumed = (Event.from_bytes(request.body) for request in hook.requests[:2])
    assert (missed.name, resumed.name) == ("heartbeat.missed", "heartbeat.resumed")
    assert missed.cluster == resumed.cluster == scene.mark
    assert missed.data["silentSeconds"] > 0


@pytest.mark.broker
async def test_a_long_history_is_copied_in_steps_that_are_written_down(scene: Stage) -> None:
    """More than one batch: the board says how far it is, the end clears it, everything arrived."""
    scene.write(scene.subscription(sink="log", word="first", more={"enabled": False}))
    async with scene.service():
        await scene.publish(*[scene.event(f"e{n}", seconds=None) for n in range(700)])
    async with receiver() as hook, open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(hook.url, concurrency=50, more={"from": "1h"}))
        async with scene.service(**LOOKS):
            moved = await control.board.until(
                scene.name(), lambda state: state.catch_up is not None and state.catch_up.offset >= 0
            )
            assert moved.catch_up is not None
            await control.board.until(scene.name(), lambda state: state.version == 1 and state.catch_up is None)
            await until(lambda: len(set(_ids(hook.requests))) == 700, hook.arrived)


@pytest.mark.broker
async def test_an_old_queue_that_stays_empty_is_deleted(scene: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of kind the former version is drained and, once surely empty, gone."""
    monkeypatch.setattr("consumers.watchman.SURELY_EMPTY", 0.1)
    async with open_control(scene.url, scene.house) as control:
        scene.write(scene.subscription(sink="log"))
        async with scene.service():
            pass
        scene.write(scene.subscription(sink="log", ordering="object"))
        async with scene.service(**LOOKS):
            await control.board.until(scene.name(), lambda state: state.version == 2 and not state.old)
        assert await scene.count(scene.queue(version=2)) == 0
