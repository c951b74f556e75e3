"""The receiver that checks: signatures, copies, both modes of the HTTP binding."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from standardwebhooks.webhooks import Webhook

from kamaji_events.cli.receiving import CheckingReceiver
from kamaji_events.errors import SettingsError
from kamaji_events.event import Event

_SECRET = "whsec_a2FtYWppLWV2ZW50cy1jb21wb3NlLWV4YW1wbGU="


class Heard(list[Event]):
    """Events in the order in which they came."""


@pytest.fixture
def heard() -> Heard:
    """Nothing yet."""
    return Heard()


@pytest_asyncio.fixture
async def receiver(heard: Heard) -> AsyncIterator[CheckingReceiver]:
    """One that wants signatures."""
    async with CheckingReceiver("127.0.0.1", 0, secret=_SECRET, on_event=heard.append) as open_one:
        yield open_one


def _body(event_id: str = "u.1.state.ready", **data: Any) -> bytes:
    attributes = {"specversion": "1.0", "id": event_id, "source": "/kamaji/eu-1", "type": "io.x", "data": data}
    return json.dumps(attributes).encode()


async def _post(url: str, body: bytes, headers: dict[str, str] | None = None, *, sign: bool = True) -> int:
    now = datetime.now(UTC)
    signed = {
        "webhook-id": "m1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(_SECRET).sign("m1", now, body.decode()),
    }
    sent = {"content-type": "application/cloudevents+json", **(signed if sign else {}), **(headers or {})}
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=sent) as response:
        return response.status


async def test_a_signed_event_is_taken_once(receiver: CheckingReceiver, heard: Heard) -> None:
    """The reference library's signature passes; a copy is counted as one."""
    assert await _post(receiver.url, _body()) == 204
    assert await _post(receiver.url, _body()) == 204

    assert [event.id for event in heard] == ["u.1.state.ready"]
    assert (receiver.tally.events, receiver.tally.copies, receiver.tally.problems) == (1, 1, [])


async def test_one_id_with_two_contents_is_a_problem(receiver: CheckingReceiver) -> None:
    """An event is the same bytes for ever."""
    await _post(receiver.url, _body(a=1))
    await _post(receiver.url, _body(a=2))

    assert receiver.tally.problems == ["u.1.state.ready: one id with two contents"]


@pytest.mark.parametrize(
    "headers",
    [
        {"webhook-signature": "v1,AAAA"},
        {"webhook-timestamp": "1"},
        {"webhook-timestamp": "soon"},
        {"webhook-id": "other"},
    ],
)
async def test_a_wrong_signature_is_refused(receiver: CheckingReceiver, heard: Heard, headers: dict[str, str]) -> None:
    """401, and nothing is taken."""
    assert await _post(receiver.url, _body(), headers) == 401
    assert not heard
    assert receiver.tally.refused == 1


async def test_an_unsigned_request_is_refused(receiver: CheckingReceiver) -> None:
    """A secret was given, so a signature is wanted."""
    assert await _post(receiver.url, _body(), sign=False) == 401


async def test_what_is_no_event_is_refused(receiver: CheckingReceiver) -> None:
    """400 with the reason."""
    assert await _post(receiver.url, b"{}") == 400
    assert "specversion" in receiver.tally.problems[0]


async def test_binary_mode_is_understood(receiver: CheckingReceiver, heard: Heard) -> None:
    """Attributes in headers, data in the body."""
    attributes = {"ce-specversion": "1.0", "ce-id": "9", "ce-source": "/kamaji/x", "ce-type": "io.x"}

    assert await _post(receiver.url, b'{"a": 1}', {"content-type": "application/json", **attributes}) == 204

    assert heard[0].id == "9"
    assert heard[0].data == {"a": 1}


async def test_a_taken_port_and_a_bad_secret_are_told() -> None:
    """Errors of the user's input."""
    with pytest.raises(SettingsError, match="whsec_"):
        CheckingReceiver("127.0.0.1", 0, secret="whsec_!!")
    async with CheckingReceiver("127.0.0.1", 0) as first:
        with pytest.raises(SettingsError, match="cannot listen"):
            async with CheckingReceiver("127.0.0.1", first.port):
                pass
