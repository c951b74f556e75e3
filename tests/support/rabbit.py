"""RabbitMQ for tests: the one of AMQP_URL, else a private node that is started once for the session."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import trustme

from kamaji_events.broker.node import RabbitNode
from kamaji_events.broker.topology import Layout

__all__ = ["fresh", "layout", "need_rabbit", "private_node", "rabbit", "tls_node"]


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


@pytest.fixture(scope="session")
def tls_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The TLS port of a node of its own, and the authority's certificate."""
    need_rabbit()
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    for number, pem in enumerate(certificate.cert_chain_pems):
        pem.write_to_path(folder / "cert.pem", append=number > 0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = RabbitNode(
        config=f"""
listeners.ssl.default = 127.0.0.1:{port}
ssl_options.cacertfile = {folder}/ca.pem
ssl_options.certfile = {folder}/cert.pem
ssl_options.keyfile = {folder}/key.pem
ssl_options.verify = verify_none
"""
    )
    asyncio.run(started.start())
    yield port, folder / "ca.pem"
    asyncio.run(started.stop())


@pytest.fixture
def layout() -> Layout:
    """An installation of one's own on the shared broker."""
    return Layout(prefix=fresh("k"))
