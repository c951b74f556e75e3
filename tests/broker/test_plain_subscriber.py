"""A subscriber that knows nothing of this project: plain pika, a queue and a binding."""

import asyncio
from collections.abc import Sequence

import pika
import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.topology import Layout, Topology
from kamaji_events.envelope import Message
from kamaji_events.event import Event
from kamaji_events.routing import name_words, word
from tests.support.events import event_message

pytestmark = pytest.mark.broker

LONG = "a" * 63 + "." + "b" * 63 + "." + "c" * 63 + "." + "d" * 61
DOTTED = "acme.prod.example"


async def seen_by(url: str, layout: Layout, messages: Sequence[Message], *keys: str) -> list[str]:
    """The ids that a subscriber with these bindings gets."""
    topology = Topology(exchanges=layout.exchange_topology().exchanges)
    async with connect(url, name="test") as broker:
        await declare.apply(broker, topology)
        opened = await asyncio.to_thread(_Opened, url, layout.events, keys)
        async with broker.publisher() as publisher:
            await publisher.publish_many([*messages, END], exchange=layout.events)
        ids = await asyncio.to_thread(opened.ids)
        await declare.delete(broker, topology)
    return ids


END = event_message("end", event="addons.changed", namespace="end", name="end")


class _Opened:
    """A bound subscriber, which reads up to a mark of its own."""

    def __init__(self, url: str, exchange: str, keys: Sequence[str]) -> None:
        self._connection = pika.BlockingConnection(pika.URLParameters(url))
        self._channel = self._connection.channel()
        self._queue = self._channel.queue_declare("", exclusive=True).method.queue
        for key in (*keys, END.routing_key):
            self._channel.queue_bind(self._queue, exchange, key)

    def ids(self) -> list[str]:
        """What came before the mark; the events as any client reads them."""
        ids: list[str] = []
        for method, properties, body in self._channel.consume(self._queue, auto_ack=True):
            event = Event.from_bytes(body)
            assert properties.content_type == "application/cloudevents+json"
            assert (properties.message_id, properties.type, properties.delivery_mode) == (event.id, event.type, 2)
            assert len(method.routing_key.split(".")) == 6
            if event.id == "end":
                break
            ids.append(event.id)
        self._connection.close()
        return ids


MESSAGES = [
    event_message("upgrade", event="upgrade.completed"),
    event_message("upgrade-dotted", event="upgrade.requested", name=DOTTED),
    event_message("upgrade-long", event="upgrade.started", name=LONG),
    event_message("upgrade-long-namespace", event="upgrade.stalled", name=LONG, namespace="n" * 63, cluster="c" * 40),
    event_message("migrate", event="migrate.completed", name="upgrade"),
    event_message("ready", event="state.ready", namespace="upgrade", name="upgrade.x"),
    event_message("delete", event="delete.completed", name=LONG),
]


async def test_all_upgrades_and_nothing_else(rabbit: str, layout: Layout) -> None:
    """``*.upgrade.*.#``: on names with dots and of 253 characters, and not fooled by names that say upgrade."""
    assert len(LONG) == 253
    ids = await seen_by(rabbit, layout, MESSAGES, "*.upgrade.*.#")
    assert ids == ["upgrade", "upgrade-dotted", "upgrade-long", "upgrade-long-namespace"]


async def test_everything_that_completes(rabbit: str, layout: Layout) -> None:
    """``*.*.completed.#``."""
    assert await seen_by(rabbit, layout, MESSAGES, "*.*.completed.#") == ["upgrade", "migrate", "delete"]


@pytest.mark.parametrize("name", [DOTTED, LONG])
async def test_one_object_by_its_name(rabbit: str, layout: Layout, name: str) -> None:
    """A binding for each word that a name can become finds all of its events, whatever else the key holds."""
    keys = [f"*.*.*.*.*.{each}" for each in name_words(name)]
    expected = [message.id for message in MESSAGES if Event.from_bytes(message.body).object_name == name]
    assert await seen_by(rabbit, layout, MESSAGES, *keys) == expected
    assert expected


async def test_one_namespace_of_one_cluster(rabbit: str, layout: Layout) -> None:
    """Cluster and namespace are words of their own."""
    messages = [*MESSAGES, event_message("elsewhere", cluster="us-1", namespace="tenants")]
    ids = await seen_by(rabbit, layout, messages, f"*.*.*.eu-1.{word('tenants')}.*")
    assert ids == ["upgrade", "upgrade-dotted", "upgrade-long", "migrate", "delete"]
