"""The CloudEvents handshake: only the receiver's header is consent."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from consumers.sinks.base import Delivered, Failed, Sink, Throttled
from consumers.sinks.memory import ProcessMemory
from tests.support.receiver import Receiver, Request, receiver, response
from tests.support.samples import NOW, sample_delivery

Make = Callable[..., Sink]


class _Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def _consents(headers: dict[str, str], status: int = 200) -> Callable[[Request, asyncio.StreamWriter], Any]:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool:
        asked = request.method == "OPTIONS"
        return await response(status if asked else 204, headers=headers if asked else {})(request, writer)

    return answer


def _settings(there: Receiver, **handshake: Any) -> dict[str, Any]:
    return {"url": there.url, "handshake": {"origin": "events.example.com", **handshake}}


@pytest.mark.parametrize("allowed", ["events.example.com", "*"])
async def test_a_grant_is_asked_for_once(make: Make, allowed: str) -> None:
    """One question, then deliveries that carry the origin; asked again when it is a day old."""
    clock = _Clock()
    async with receiver(_consents({"WebHook-Allowed-Origin": allowed, "WebHook-Allowed-Rate": "*"})) as there:
        sink = make("webhook", _settings(there), clock=clock)
        assert await asyncio.gather(*(sink.deliver(sample_delivery()) for _ in range(3))) == [Delivered("204")] * 3
        clock.now += 86_401
        assert await sink.deliver(sample_delivery()) == Delivered("204")
    assert [request.method for request in there.requests] == ["OPTIONS", "POST", "POST", "POST", "OPTIONS", "POST"]
    assert {request.headers["webhook-request-origin"] for request in there.requests} == {"events.example.com"}
    assert "webhook-request-rate" not in there.requests[0].headers


@pytest.mark.parametrize("headers", [{}, {"WebHook-Allowed-Origin": "other.example.com"}, {"Allow": "POST"}])
@pytest.mark.parametrize("status", [200, 204, 405])
async def test_a_status_is_no_consent(make: Make, headers: dict[str, str], status: int) -> None:
    """Without the right header nothing is posted, and the question is not repeated for each event."""
    clock = _Clock()
    async with receiver(_consents(headers, status)) as there:
        sink = make("webhook", _settings(there), clock=clock)
        outcomes = [await sink.deliver(sample_delivery()) for _ in range(3)]
        assert [request.method for request in there.requests] == ["OPTIONS"]
        clock.now += 61
        await sink.deliver(sample_delivery())
        assert [request.method for request in there.requests] == ["OPTIONS", "OPTIONS"]
    assert all(isinstance(outcome, Failed) for outcome in outcomes)
    assert "did not grant events.example.com" in str(outcomes[0])


async def test_the_allowed_rate_is_kept(make: Make) -> None:
    """Beyond it deliveries are throttled until the minute is over."""
    clock = _Clock()
    headers = {"WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "2"}
    async with receiver(_consents(headers)) as there:
        sink = make("webhook", _settings(there, rate=120), clock=clock)
        outcomes = [await sink.deliver(sample_delivery()) for _ in range(3)]
        clock.now += 60
        outcomes.append(await sink.deliver(sample_delivery()))
    assert there.requests[0].headers["webhook-request-rate"] == "120"
    assert [type(outcome) for outcome in outcomes] == [Delivered, Delivered, Throttled, Delivered]
    assert isinstance(outcomes[2], Throttled)
    assert outcomes[2].retry_after == 60.0


async def test_a_grant_by_callback_counts_for_every_worker(make: Make, unused_tcp_port: int) -> None:
    """The receiver calls later; a wrong token grants nothing, the right one opens the way for another worker too."""
    clock, memory = _Clock(), ProcessMemory()
    callback = {"url": f"http://127.0.0.1:{unused_tcp_port}/grants/", "listen": f"127.0.0.1:{unused_tcp_port}"}
    async with receiver(_consents({}, 200)) as there:
        sink = make("webhook", _settings(there, callback=callback), clock=clock, memory=memory)
        waiting = await sink.deliver(sample_delivery())
        assert isinstance(waiting, Throttled)
        assert waiting.retry_after == 60.0
        granted = there.requests[0].headers["webhook-request-callback"]
        async with httpx.AsyncClient() as browser:
            assert (await browser.get(granted + "x")).status_code == 404
            assert isinstance(await sink.deliver(sample_delivery()), Throttled)
            assert (await browser.post(granted, headers={"WebHook-Allowed-Rate": "30"})).text == "granted\n"
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        other = make("webhook", _settings(there, callback=callback), clock=clock, memory=memory)
        assert await other.deliver(sample_delivery()) == Delivered("204")
    assert [request.method for request in there.requests] == ["OPTIONS", "POST", "POST"]
