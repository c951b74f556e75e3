"""Frames are those that pamqp would make; what is used of aiormq is there."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import aiormq.abc
import aiormq.connection
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pamqp import commands as spec
from pamqp.body import ContentBody
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from kamaji_events.broker.wire import Outgoing, frames

SHORT = st.text(max_size=60)
MAYBE = st.none() | SHORT
HEADERS = st.none() | st.dictionaries(SHORT.filter(bool), st.integers(-(2**31), 2**31 - 1) | SHORT | st.booleans())

PROPERTIES = st.builds(
    spec.Basic.Properties,
    content_type=MAYBE,
    content_encoding=MAYBE,
    headers=HEADERS,
    delivery_mode=st.sampled_from([None, 1, 2]),
    priority=st.none() | st.integers(0, 9),
    correlation_id=MAYBE,
    reply_to=MAYBE,
    expiration=MAYBE,
    message_id=MAYBE,
    timestamp=st.none() | st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - given a zone
    message_type=MAYBE,
    user_id=MAYBE,
    app_id=MAYBE,
)


@given(
    channel=st.integers(1, 65_535),
    exchange=st.from_regex(r"[a-zA-Z0-9-_.:]{0,127}", fullmatch=True),
    key=SHORT,
    properties=PROPERTIES,
    body=st.binary(max_size=300),
    mandatory=st.booleans(),
    body_max=st.integers(1, 400),
)
def test_frames_equal_pamqps(
    channel: int,
    exchange: str,
    key: str,
    properties: spec.Basic.Properties,
    body: bytes,
    mandatory: bool,  # noqa: FBT001 - drawn by name
    body_max: int,
) -> None:
    """Byte for byte, for every property and any split of the body."""
    method = spec.Basic.Publish(exchange=exchange, routing_key=key, mandatory=mandatory)
    expected = marshal(method, channel)
    expected += marshal(ContentHeader(properties=properties, body_size=len(body)), channel)
    for start in range(0, len(body), body_max):
        expected += marshal(ContentBody(body[start : start + body_max]), channel)
    outgoing = Outgoing(body, key, properties)
    assert frames(channel, exchange, outgoing, mandatory=mandatory, body_max=body_max) == expected


def test_a_name_too_long_for_amqp_is_refused_before_anything_is_sent() -> None:
    """256 bytes do not fit into a short string."""
    with pytest.raises(ValueError, match="at most 255"):
        frames(1, "", Outgoing(b"", "é" * 128), mandatory=False, body_max=100)


async def test_what_is_used_of_aiormq_is_there() -> None:
    """The channel and connection of ours stand on these names; an upgrade that drops one fails here."""
    connection: Any = aiormq.connection.Connection("amqp://guest:guest@127.0.0.1/")
    for name in ("channels", "closing", "ready", "ssl_certs", "loop", "accept_consumer_cancel_ok", "_rpc"):
        assert hasattr(type(connection), name) or name in vars(connection), name
    assert connection.channels == {}
    assert asyncio.isfuture(connection.closing)
    assert "frames" in aiormq.abc.AbstractChannel.__annotations__
    assert "connection_tune" in aiormq.abc.AbstractConnection.__annotations__
    assert "server_properties" in aiormq.abc.AbstractConnection.__annotations__
    await connection.close(None)
