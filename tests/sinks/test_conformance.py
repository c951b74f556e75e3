"""Every built-in sink passes the suite that plug-ins must pass."""

import asyncio
import io
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar

import msgspec
import pytest

from consumers.sinks.base import Delivered, Delivery, Outcome
from consumers.sinks.conformance import Rig, SinkConformance
from consumers.sinks.context import SinkContext
from consumers.sinks.registry import build
from consumers.sinks.slack import SlackSink
from consumers.sinks.slack.settings import SlackSettings
from kamaji_events.broker.connection import connect
from kamaji_events.broker.declare import apply, delete
from kamaji_events.broker.topology import Queue, Topology
from tests.support.rabbit import fresh
from tests.support.receiver import Request, receiver, response
from tests.support.slack import CHANNEL, TOKEN, SlackStandIn


class _Moods:
    """A receiver that can hang and fail."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.mood = "well"

    def be(self, mood: str) -> None:
        self.mood = mood

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        if self.mood == "hangs":
            await asyncio.Event().wait()
        if self.mood == "fails":
            return await response(500, b"out\nof order")(request, writer)
        self.bodies.append(request.body)
        return await response(204)(request, writer)

    async def received(self) -> Sequence[bytes]:
        """A batch counts as its events."""
        return [
            bytes(event)
            for body in self.bodies
            for event in (msgspec.json.decode(body, type=list[msgspec.Raw]) if body.startswith(b"[{") else [body])
        ]


class _Webhook(SinkConformance):
    settings: ClassVar[dict[str, Any]] = {}
    exact = True

    @asynccontextmanager
    async def rig(self) -> AsyncIterator[Rig]:
        """A webhook sink and a receiver with moods."""
        moods = _Moods()
        async with receiver(moods) as there:
            sink = build("webhook", {"url": there.url, **self.settings}, context=SinkContext(allow=("loopback",)))
            yield Rig(
                sink=sink,
                received=moods.received,
                hang=lambda: moods.be("hangs"),
                fail=lambda: moods.be("fails"),
                heal=lambda: moods.be("well"),
                exact=self.exact,
            )


class TestWebhook(_Webhook):
    """Structured mode."""


class TestBinaryWebhook(_Webhook):
    """Binary mode: the body is data's bytes."""

    settings: ClassVar[dict[str, Any]] = {"mode": "binary"}
    exact = False


class TestBatchedWebhook(_Webhook):
    """Batched mode."""

    settings: ClassVar[dict[str, Any]] = {"mode": "batched", "batch": {"wait": "10ms"}}


class TestTemplateWebhook(_Webhook):
    """A body of its own shape."""

    settings: ClassVar[dict[str, Any]] = {"template": {"inline": "{{ headline }}", "contentType": "text/plain"}}
    exact = False


class TestSlack(SinkConformance):
    """A bot in a channel."""

    @asynccontextmanager
    async def rig(self) -> AsyncIterator[Rig]:
        """A Slack sink and the stand-in."""
        slack = SlackStandIn()
        given = {"token": {"fromEnv": "TOKEN"}, "channel": CHANNEL, "interval": 0}
        settings = SlackSettings.model_validate(given, context={"environ": {"TOKEN": TOKEN}})

        async def received() -> Sequence[bytes]:
            return [str(message).encode() for message in slack.messages.values()]

        def refuse(word: str | None) -> None:
            slack.refuse = lambda *_: word

        yield Rig(
            sink=SlackSink(settings, SinkContext(), transport=slack.transport()),
            received=received,
            fail=lambda: refuse("internal_error"),
            heal=lambda: refuse(None),
            exact=False,
        )


class TestLog(SinkConformance):
    """Standard output."""

    @asynccontextmanager
    async def rig(self) -> AsyncIterator[Rig]:
        """A log sink and a stream in memory."""
        before, stream = sys.stdout, io.StringIO()
        sys.stdout = stream

        async def received() -> Sequence[bytes]:
            return stream.getvalue().encode().splitlines()

        try:
            # An event of several lines of JSON becomes one line: its bytes are not kept then.
            yield Rig(sink=build("log", {}), received=received, fail=stream.close, exact=False)
        finally:
            sys.stdout = before


@pytest.mark.broker
@pytest.mark.usefixtures("rabbit")
class TestQueue(SinkConformance):
    """A queue on a real broker."""

    url = ""

    @pytest.fixture(autouse=True)
    def _broker(self, rabbit: str) -> None:
        self.url = rabbit

    @asynccontextmanager
    async def rig(self) -> AsyncIterator[Rig]:
        """A queue sink and its queue, which can be taken away."""
        name = fresh("conformance")
        topology = Topology(queues=(Queue(name),))
        async with connect(self.url, name="conformance") as broker:
            await apply(broker, topology)
            sink = build("queue", {"queue": name}, context=SinkContext(amqp_url=self.url))

            async def received() -> Sequence[bytes]:
                bodies: list[bytes] = []
                async with broker.consume(name) as consumer:
                    try:
                        async with asyncio.timeout(0.5):
                            async for incoming in consumer:
                                bodies.append(incoming.body)
                                await incoming.ack()
                    except TimeoutError:
                        pass
                return bodies

            try:
                yield Rig(sink=sink, received=received)
            finally:
                await delete(broker, topology)


class _Rude:
    """Does everything wrong that the suite looks for."""

    def __init__(self, got: list[bytes]) -> None:
        self._got = got

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Serialises anew, swallows cancellation and calls everything delivered."""
        self._got.append(msgspec.json.encode(msgspec.json.decode(delivery.event.raw)))
        if delivery.event.data.get("object", {}).get("name") == "tenant-2":
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return Delivered()

    async def aclose(self) -> None:
        """Never."""
        await asyncio.Event().wait()


class _RudeConformance(SinkConformance):
    deadline = 0.3

    @asynccontextmanager
    async def rig(self) -> AsyncIterator[Rig]:
        """A sink that behaves badly."""
        got: list[bytes] = []

        async def received() -> Sequence[bytes]:
            return got

        yield Rig(sink=_Rude(got), received=received, hang=lambda: None, fail=lambda: None)


@pytest.mark.parametrize(
    "case",
    [
        "test_it_can_be_closed_unused",
        "test_it_delivers_the_bytes_of_the_queue",
        "test_a_refusal_is_an_outcome",
        "test_it_lets_cancellation_pass",
    ],
)
def test_the_suite_bites(case: str) -> None:
    """A sink that behaves badly does not pass."""
    with pytest.raises(AssertionError):
        getattr(_RudeConformance(), case)()
