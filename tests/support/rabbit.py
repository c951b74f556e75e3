"""RabbitMQ for tests: the one of AMQP_URL, else a private node that is started once for the session."""

import asyncio
import os
from collections.abc import Iterator
from uuid import uuid4

import pytest

from kamaji_events.broker.node import RabbitNode
from kamaji_events.broker.topology import Layout

__all__ = ["fresh", "layout", "need_rabbit", "private_node", "rabbit"]


def fresh(word: str = "t") -> str:
    """A name that no other test uses, fit for queues, subscriptions and clusters."""
    return f"{word}-{uuid4().hex[:12]}"


def need_rabbit() -> None:
    """Skip where there is no rabbitmq-server to start; in CI that is a failure."""
    if RabbitNode.available():
        return
    reason = "no AMQP_URL and no rabbitmq-server: apt-get install rabbitmq-server"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def rabbit() -> Iterator[str]:
    """The URL of a RabbitMQ that tests share; use names of your own (``fresh``, ``layout``)."""
    if url := os.environ.get("AMQP_URL"):
        yield url
        return
    with _running() as node:
        yield node.url


class _running:  # noqa: N801 - used like a function
    """A started node as a plain context manager, for fixtures that outlive event loops."""

    def __init__(self) -> None:
        self.node = RabbitNode()

    def __enter__(self) -> RabbitNode:
        need_rabbit()
        asyncio.run(self.node.start())
        return self.node

    def __exit__(self, *_: object) -> None:
        asyncio.run(self.node.stop())


@pytest.fixture(scope="session")
def private_node() -> Iterator[RabbitNode]:
    """A node of this session's own, for vhosts, alarms, kills: leave it running and without alarm."""
    with _running() as node:
        yield node


@pytest.fixture
def layout() -> Layout:
    """An installation of one's own on the shared broker."""
    return Layout(prefix=fresh("k"))
