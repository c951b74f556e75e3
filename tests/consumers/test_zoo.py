"""The receiver zoo: whatever a receiver does, the event ends where it should, with its tries counted, and is not lost.

One row an animal; each goes through a real broker and a real HTTP connection.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from consumers.control import open_control
from consumers.dead import DeadLetter
from consumers.run import Service
from consumers.sinks.web import client
from consumers.state import Status
from tests.support.consumers import Stage, until
from tests.support.receiver import Answer, Receiver, Request, receiver, response

pytestmark = pytest.mark.broker

_TRIES = 2
_BRISK: dict[str, Any] = {"read": 0.2, "total": 0.5}
"""Timeouts for those that never answer; all others have the usual ones."""


def _raw(data: bytes, *, then: str = "closes") -> Answer:
    """These bytes, and then the connection is closed, held without a word, or goes on byte by byte."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        while then == "trickles":
            await asyncio.sleep(0.05)
            writer.write(b"x")
            await writer.drain()
        if then == "holds":
            await asyncio.Event().wait()
        return False

    return answer


def _large(status: int) -> Answer:
    """Ten megabytes."""
    return response(status, b"x" * 10_485_760)


def _throttle(value: Callable[[], str]) -> Answer:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool:
        return await response(429, headers={"retry-after": value()})(request, writer)

    return answer


def _in_a_second() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)


@dataclass
class Animal:
    """What it answers, and what comes of it."""

    answer: Answer
    ends: str
    """``delivered``, ``dead`` after all tries, ``rejected`` at once, ``disabled``, or ``throttled`` until it yields."""
    told: str = ""
    """Part of the dead letter's error."""
    timeouts: dict[str, Any] = field(default_factory=dict)


_HEAD = b"HTTP/1.1 200 OK\r\n"

ZOO = {
    "200": Animal(response(200, b"thanks"), "delivered"),
    "204": Animal(response(204), "delivered"),
    "200 with 10 MB": Animal(_large(200), "delivered"),
    "200 whose body is cut off": Animal(_raw(_HEAD + b"content-length: 1000\r\n\r\nx"), "delivered"),
    "200 with one byte at a time": Animal(
        _raw(_HEAD + b"content-length: 100000\r\n\r\n", then="trickles"), "delivered"
    ),
    "301": Animal(response(301, headers={"location": "https://elsewhere.example/"}), "dead", "a redirect"),
    "304": Animal(response(304), "dead", "304"),
    "400": Animal(response(400, b"what?"), "dead", "400: what?"),
    "401": Animal(response(401), "dead", "401"),
    "404": Animal(response(404), "dead", "404"),
    "410": Animal(response(410), "disabled"),
    "413": Animal(response(413), "rejected", "413"),
    "429": Animal(response(429), "throttled"),
    "429 with seconds": Animal(_throttle(lambda: "1"), "throttled"),
    "429 with a date": Animal(_throttle(_in_a_second), "throttled"),
    "429 with nonsense": Animal(_throttle(lambda: "soon"), "throttled"),
    "500": Animal(response(500, b"oops"), "dead", "500: oops"),
    "500 with 10 MB": Animal(_large(500), "dead", "500: xxx"),
    "503": Animal(response(503), "dead", "503"),
    "503 with seconds": Animal(response(503, headers={"retry-after": "1"}), "throttled"),
    "599": Animal(response(599), "dead", "599"),
    "silence": Animal(_raw(b"", then="holds"), "dead", "no answer", _BRISK),
    "one byte at a time": Animal(_raw(_HEAD + b"x-slow: ", then="trickles"), "dead", "no answer", _BRISK),
    "half a head": Animal(_raw(_HEAD + b"content-le"), "dead", "http://127.0.0.1"),
    "half a head, then silence": Animal(_raw(_HEAD + b"content-le", then="holds"), "dead", "no answer", _BRISK),
    "an early close": Animal(_raw(b""), "dead", "closed before an answer"),
    "SSH": Animal(_raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "dead", "no HTTP"),
    "zeros": Animal(_raw(b"\x00" * 100), "dead", "no HTTP"),
}


@pytest.mark.parametrize("name", ZOO)
async def test_an_animal_of_the_zoo(scene: Stage, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is the row's, tries are as many as were sent, all under one id, and nothing is left behind."""
    monkeypatch.setattr(client, "_PATIENCE", 0.2)
    monkeypatch.setattr("consumers.decision._FIRST_SLOW", 1.0)
    animal, event = ZOO[name], scene.event("a")
    tries = 1 if animal.ends == "throttled" else _TRIES
    async with receiver(animal.answer) as hook:
        sink = {"webhook": {"url": hook.url, "timeouts": animal.timeouts}}
        scene.write(scene.subscription(sink=sink, tries=tries, delays=["50ms"], circuit={"failures": 0}))
        async with scene.service() as service:
            await scene.publish(event)
            await _END[animal.ends](scene, hook, animal)
        assert _outcomes(service, scene) == _OUTCOMES[animal.ends]
        assert len(hook.requests) == sum(_OUTCOMES[animal.ends].values())
        assert {request.body for request in hook.requests} == {event.body}
        assert {request.headers["webhook-id"] for request in hook.requests} == {"a"}
        assert await scene.count(scene.queue()) + await scene.count(scene.dead()) == 0


def _outcomes(service: Service, scene: Stage) -> dict[str, float]:
    """Of every try, as the metrics tell."""
    name = "kamaji_events_consumers_tries_total"
    return {
        sample.labels["outcome"]: sample.value
        for family in service.metrics.registry.collect()
        for sample in family.samples
        if sample.name == name and sample.labels["subscription"] == scene.name()
    }


_OUTCOMES = {
    "delivered": {"delivered": 1.0},
    "dead": {"failed": float(_TRIES)},
    "rejected": {"rejected": 1.0},
    "disabled": {"gone": 1.0, "delivered": 1.0},
    "throttled": {"throttled": 2.0, "delivered": 1.0},
}


async def _delivered(scene: Stage, hook: Receiver, _: Animal) -> None:
    await until(lambda: bool(hook.requests), hook.arrived)


async def _buried(scene: Stage, hook: Receiver, animal: Animal) -> None:
    """The dead letter has the same bytes and id, says why, and how often it was tried."""
    async with scene.broker.consume(scene.dead(), 1) as letters:
        incoming = await anext(letters)
        await incoming.ack()
    letter = DeadLetter.of(incoming)
    assert (letter.id, incoming.properties.message_id, letter.body) == ("a", "a", hook.requests[0].body)
    assert letter.why == {"dead": "TriesUsedUp", "rejected": "Rejected"}[animal.ends]
    assert animal.told in letter.error
    assert letter.tries == len(hook.requests)


async def _disabled(scene: Stage, hook: Receiver, _: Animal) -> None:
    """The event waits in its queue until a person resumes the subscription."""
    async with open_control(scene.url, scene.house) as control:
        await control.board.until(scene.name(), lambda state: state.status is Status.DISABLED)
        while not await control.waiting(scene.name()):
            await scene.count(scene.queue())
        hook.answer = response()
        await control.resume(scene.name())
        await until(lambda: len(hook.requests) > 1, hook.arrived)


async def _throttled(scene: Stage, hook: Receiver, _: Animal) -> None:
    """Asked to slow down twice, it burns no try, though there is but one."""
    await until(lambda: bool(hook.requests), hook.arrived)
    await until(lambda: len(hook.requests) > 1, hook.arrived)
    hook.answer = response()
    await until(lambda: len(hook.requests) > 2, hook.arrived)


_END = {
    "delivered": _delivered,
    "dead": _buried,
    "rejected": _buried,
    "disabled": _disabled,
    "throttled": _throttled,
}
