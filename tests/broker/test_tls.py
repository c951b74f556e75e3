"""TLS to a real RabbitMQ: trusted, not trusted, not TLS."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from kamaji_events.broker.connection import connect
from kamaji_events.broker.node import RabbitNode
from kamaji_events.errors import BrokerRefused, BrokerUnavailable
from tests.support.rabbit import need_rabbit

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
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


async def test_a_trusted_certificate(node: tuple[int, Path]) -> None:
    """With the authority named in the URL it connects."""
    port, authority = node
    async with connect(f"amqps://guest:guest@localhost:{port}/?cafile={authority}", name="test") as broker:
        assert broker.properties["product"] == "RabbitMQ"


async def test_an_unknown_authority_is_refused_and_says_what_to_give(node: tuple[int, Path]) -> None:
    """A person must mend it."""
    with pytest.raises(BrokerRefused, match=r"certificate is not trusted.*cafile"):
        async with connect(f"amqps://guest:guest@localhost:{node[0]}/", name="test"):
            pass


async def test_another_host_name_is_refused(node: tuple[int, Path]) -> None:
    """The certificate is for localhost, not for its address."""
    port, authority = node
    with pytest.raises(BrokerRefused, match="certificate is not trusted"):
        async with connect(f"amqps://guest:guest@127.0.0.1:{port}/?cafile={authority}", name="test"):
            pass


async def test_plain_amqp_to_the_tls_port(node: tuple[int, Path]) -> None:
    """No endless wait."""
    with pytest.raises(BrokerUnavailable):
        async with connect(f"amqp://guest:guest@localhost:{node[0]}/", name="test", timeout=5):
            pass
