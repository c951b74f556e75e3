"""TLS to a real RabbitMQ: trusted, not trusted, not TLS."""

from pathlib import Path

import pytest

from kamaji_events.broker.connection import connect
from kamaji_events.errors import BrokerRefused, BrokerUnavailable

pytestmark = pytest.mark.broker


async def test_a_trusted_certificate(tls_node: tuple[int, Path]) -> None:
    """With the authority named in the URL it connects."""
    port, authority = tls_node
    async with connect(f"amqps://guest:guest@localhost:{port}/?cafile={authority}", name="test") as broker:
        assert broker.properties["product"] == "RabbitMQ"


async def test_an_unknown_authority_is_refused_and_says_what_to_give(tls_node: tuple[int, Path]) -> None:
    """A person must mend it."""
    with pytest.raises(BrokerRefused, match=r"certificate is not trusted.*cafile"):
        async with connect(f"amqps://guest:guest@localhost:{tls_node[0]}/", name="test"):
            pass


async def test_another_host_name_is_refused(tls_node: tuple[int, Path]) -> None:
    """The certificate is for localhost, not for its address."""
    port, authority = tls_node
    with pytest.raises(BrokerRefused, match="certificate is not trusted"):
        async with connect(f"amqps://guest:guest@127.0.0.1:{port}/?cafile={authority}", name="test"):
            pass


async def test_plain_amqp_to_the_tls_port(tls_node: tuple[int, Path]) -> None:
    """No endless wait."""
    with pytest.raises(BrokerUnavailable):
        async with connect(f"amqp://guest:guest@localhost:{tls_node[0]}/", name="test", timeout=5):
            pass
