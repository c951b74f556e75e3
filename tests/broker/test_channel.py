"""The channel by itself: late answers, faults, cancels, flow."""

import asyncio
from typing import Any, cast

import pytest
from pamqp import commands as spec
from pamqp.frame import unmarshal
from pamqp.header import ContentHeader

from kamaji_events.broker.channel import Channel
from kamaji_events.errors import BrokerError, BrokerUnavailable, TopologyMissing
from tests.support.fake_broker import FakeRabbit


class Peer:
    """A connection and writer whose other side is the test."""

    def __init__(self) -> None:
        self.channels: dict[int, Any] = {}
        self.connection_tune = spec.Connection.Tune(frame_max=4096)
        self.accept_consumer_cancel_ok = True
        self.sent: list[Any] = []
        self.closed: list[Channel] = []

    def write(self, data: bytes) -> None:
        """Keep what the channel sends, as frames."""
        while data:
            consumed, _, frame = unmarshal(data)
            self.sent.append(frame)
            data = data[consumed:]

    def is_closing(self) -> bool:
        """The socket is open."""
        return False

    def channel(self, timeout: float = 0.01) -> Channel:
        """A channel to it, opened at once."""
        channel = Channel(cast("Any", self), cast("Any", self), 1, timeout=timeout, on_close=self.closed.append)
        channel._at_broker = True
        return channel

    def names(self) -> list[str]:
        """What was sent."""
        return [frame.name for frame in self.sent]


async def test_a_call_without_an_answer_fails_and_its_late_answer_goes_to_nobody_else() -> None:
    """Answers come in order: one that is late belongs to the call that gave up."""
    peer = Peer()
    channel = peer.channel()
    with pytest.raises(BrokerUnavailable, match=r"did not answer Queue\.Declare within 0\.01 s"):
        await channel.call(spec.Queue.Declare(queue="q"), timeout=0.01)
    following = asyncio.ensure_future(channel.call(spec.Basic.Qos(prefetch_count=1)))
    await asyncio.sleep(0)
    await channel.frames.put((0, spec.Queue.DeclareOk(queue="q", message_count=0, consumer_count=0)))
    await channel.frames.put((0, spec.Basic.QosOk()))
    assert isinstance(await following, spec.Basic.QosOk)


async def test_a_channel_that_does_not_open_is_given_back() -> None:
    """Its number is free again, and its close was sent."""
    peer = Peer()
    with pytest.raises(BrokerUnavailable, match=r"Channel\.Open"):
        async with peer.channel():
            pass
    assert peer.names() == ["Channel.Open", "Channel.Close"]
    assert len(peer.closed) == 1


async def test_an_answer_that_nobody_waits_for_is_only_told(caplog: pytest.LogCaptureFixture) -> None:
    """It ends nothing."""
    channel = Peer().channel()
    await channel.frames.put((0, spec.Basic.QosOk()))
    assert "nobody asked" in caplog.text
    channel.check()


async def test_flow_is_answered() -> None:
    """RabbitMQ may ask a channel to pause; the answer is due."""
    peer = Peer()
    await peer.channel().frames.put((0, spec.Channel.Flow(active=True)))
    await asyncio.sleep(0)
    assert peer.names() == ["Channel.FlowOk"]


async def test_a_cancel_by_the_broker_is_answered_where_it_wants_that() -> None:
    """RabbitMQ 4.3.7 and later keep the tag until then; the channel is lost here and still to be closed there."""
    peer = Peer()
    channel = peer.channel()
    channel.send_method(spec.Basic.Qos())
    await channel.frames.put((0, spec.Basic.Cancel(consumer_tag="c", nowait=True)))
    await asyncio.sleep(0)
    assert peer.names() == ["Basic.CancelOk"]
    with pytest.raises(BrokerUnavailable, match="cancelled the consumer"):
        channel.check()
    await channel.aclose()
    assert peer.names() == ["Basic.CancelOk", "Channel.Close"]


async def test_nothing_is_sent_behind_a_close_by_the_broker() -> None:
    """Only the answer: anything else on a closed channel would end the whole connection."""
    peer = Peer()
    channel = peer.channel()
    channel.send_method(spec.Basic.Qos())
    await channel.frames.put((0, spec.Channel.Close(reply_code=404, reply_text="NOT_FOUND", class_id=0, method_id=0)))
    await asyncio.sleep(0)
    await channel.aclose()
    assert peer.names() == ["Channel.CloseOk"]
    with pytest.raises(TopologyMissing):
        await channel.call(spec.Basic.Qos())


async def test_a_returned_message_without_a_publisher_is_dropped() -> None:
    """As any content that nobody takes."""
    channel = Peer().channel()
    await channel.frames.put(
        (0, spec.Basic.Return(reply_code=312, reply_text="NO_ROUTE", exchange="", routing_key="k"))
    )
    await channel.frames.put((0, ContentHeader(body_size=0, properties=spec.Basic.Properties())))
    channel.check()


async def test_who_listens_too_late_is_told_at_once() -> None:
    """A loss cannot be missed."""
    channel = Peer().channel()
    channel.lose(BrokerUnavailable("gone"))
    told: list[BrokerError] = []

    class Listener:
        def lost(self, error: BrokerError) -> None:
            told.append(error)

    channel.listen(Listener())
    assert [str(error) for error in told] == ["gone"]


async def test_a_fault_in_taking_a_frame_costs_only_its_channel(caplog: pytest.LogCaptureFixture) -> None:
    """The connection's reader serves all channels and must not die of one."""
    async with FakeRabbit().connect() as broker, broker.channel() as one, broker.channel() as other:

        def fail(*_: object) -> None:
            raise ZeroDivisionError

        one.on_confirm = fail
        await one.frames.put((0, spec.Basic.Ack(delivery_tag=1)))
        with pytest.raises(BrokerUnavailable, match="could not be handled"):
            one.check()
        await other.call(spec.Basic.Qos(prefetch_count=1))
    assert "ZeroDivisionError" in caplog.text
