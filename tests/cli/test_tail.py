"""`tail` against a real broker, as a user runs it."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.topology import Layout
from tests.support.command import kamaji_events
from tests.support.events import event_message

pytestmark = pytest.mark.broker


@pytest_asyncio.fixture
async def told(rabbit: str, layout: Layout) -> AsyncIterator[Layout]:
    """An installation whose history has three events."""
    topology = layout.exchange_topology(history_age="1h")
    async with connect(rabbit, name="test") as broker:
        await declare.apply(broker, topology)
        async with broker.publisher() as publisher:
            messages = [
                event_message("a", event="upgrade.started", name="acme", labels={"tier": "gold"}),
                event_message("b", event="state.ready", name="acme"),
                event_message("c", event="upgrade.completed", name="blue", namespace="other"),
            ]
            for message in messages:
                await publisher.publish(message, exchange=layout.events)
        yield layout
        await declare.delete(broker, topology)


async def _tail(url: str, layout: Layout, *words: str) -> list[str]:
    command = ["tail", "--since", "1h", "--prefix", layout.prefix, *words]
    done = await asyncio.to_thread(kamaji_events, *command, env={"AMQP_URL": url})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


async def test_in_a_pipe_it_prints_json_lines(rabbit: str, told: Layout) -> None:
    """The bytes of the exchange, one event a line, in order; --count ends it."""
    lines = await _tail(rabbit, told, "--count", "3")

    assert [json.loads(line)["id"] for line in lines] == ["a", "b", "c"]
    assert lines[0].encode() == event_message("a", event="upgrade.started", labels={"tier": "gold"}).body


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-e", "upgrade.*", "--count", "2"], ["a", "c"]),
        (["-n", "oth*", "--count", "1"], ["c"]),
        (["-l", "tier=gold", "--count", "1"], ["a"]),
        (["-e", "upgrade.*", "-c", "eu-1", "-n", "tenants", "--count", "1"], ["a"]),
    ],
)
async def test_filters_choose(rabbit: str, told: Layout, words: list[str], expected: list[str]) -> None:
    """By event, namespace, labels and cluster."""
    assert [json.loads(line)["id"] for line in await _tail(rabbit, told, *words)] == expected


async def test_text_is_for_people(rabbit: str, told: Layout) -> None:
    """A line with the event and its object, without colour in a pipe."""
    (line,) = await _tail(rabbit, told, "--text", "--count", "1")

    assert "upgrade.started" in line
    assert "tenants/acme" in line
    assert "\x1b" not in line
