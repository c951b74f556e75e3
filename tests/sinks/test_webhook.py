"""The webhook sink against real servers."""

import asyncio
import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook

from consumers.sinks.base import Delivered, Failed, Gone, Rejected, Sink, Throttled
from consumers.sinks.context import SinkContext
from consumers.sinks.web import client
from consumers.sinks.webhook.settings import WebhookSettings
from consumers.sinks.webhook.signature import ed25519_key
from tests.support.receiver import Request, receiver, response
from tests.support.samples import NOW, SECRET, sample_delivery

Make = Callable[..., Sink]


async def test_structured_mode_sends_the_bytes_of_the_queue(make: Make) -> None:
    """The body is the event's own bytes, headers say what it is and the id stays the same for every try."""
    async with receiver() as there:
        sink = make("webhook", {"url": there.url})
        delivery = sample_delivery()
        assert await sink.deliver(delivery) == Delivered("204")
        assert await sink.deliver(sample_delivery(attempt=2)) == Delivered("204")
    first, second = there.requests
    assert first.method == "POST"
    assert first.body == delivery.event.raw
    assert first.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert first.headers["user-agent"].startswith("kamaji-events/")
    assert "." not in first.headers["webhook-id"]
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery.event.id.replace(".", ":")
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.connection == second.connection


async def test_signature_is_accepted_by_the_receivers_own_verifier(make: Make) -> None:
    """Each of two secrets verifies with the standardwebhooks package, a third does not."""
    other = "whsec_" + "QUFB" * 10
    async with receiver() as there:
        settings = {"url": there.url, "signature": {"secrets": [{"fromEnv": "SECRET"}, {"fromEnv": "OTHER"}]}}
        assert await make("webhook", settings, environ={"OTHER": other}).deliver(sample_delivery()) == Delivered("204")
    (request,) = there.requests
    for secret in (SECRET, other):
        assert Webhook(secret).verify(request.body, request.headers) == json.loads(request.body)
    with pytest.raises(Exception, match="No matching signature"):
        Webhook("whsec_" + "QkJC" * 10).verify(request.body, request.headers)


async def test_ed25519_signatures(make: Make) -> None:
    """v1a verifies with the public key, beside an HMAC signature of the same bytes."""
    seed = bytes(range(32))
    private = "whsk_" + base64.b64encode(seed).decode()
    async with receiver() as there:
        keys = {"secrets": [{"fromEnv": "SECRET"}], "ed25519": [{"fromEnv": "KEY"}]}
        sink = make("webhook", {"url": there.url, "signature": keys}, environ={"KEY": private})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
    (request,) = there.requests
    Webhook(SECRET).verify(request.body, request.headers)
    signed = next(part for part in request.headers["webhook-signature"].split() if part.startswith("v1a,"))
    content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    key = ed25519_key(private)
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public().removeprefix("whpk_")))
    public.verify(base64.b64decode(signed.removeprefix("v1a,")), content)
    whole = "whsk_" + base64.b64encode(seed + public.public_bytes_raw()).decode()
    assert ed25519_key(whole).public() == key.public()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("whpk_" + "QUFB" * 10, "this is a public key"),
        ("whsec_" + "QUFB" * 10, "does not start with 'whsk_'"),
        ("whsk_QUFB", "has 3 bytes"),
        ("whsk_" + base64.b64encode(bytes(64)).decode(), "two halves do not belong together"),
    ],
)
def test_wrong_ed25519_keys(text: str, told: str) -> None:
    """Each mistake is told without the key."""
    with pytest.raises(ValueError, match=told) as caught:
        ed25519_key(text)
    assert text not in str(caught.value)


async def test_a_body_of_one_byte_a_moment_does_not_hold_the_slot(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status has decided; what trickles in behind it is left unread."""
    monkeypatch.setattr(client, "_PATIENCE", 0.1)

    async def trickle(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 503 Busy\r\nretry-after: 9\r\ncontent-length: 100000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with receiver(trickle) as there:
        outcome = await make("webhook", {"url": there.url}).deliver(sample_delivery())
    assert isinstance(outcome, Throttled)
    assert outcome.retry_after == 9.0


def test_secrets_are_not_shown(make: Make) -> None:
    """Neither settings nor contexts show what they hold."""
    settings = WebhookSettings.model_validate(
        {"url": {"fromEnv": "URL"}, "signature": {"secrets": [{"fromEnv": "SECRET"}]}},
        context={"environ": {"URL": "https://x.example/t0ken", "SECRET": SECRET}},
    )
    context = SinkContext(amqp_url="amqp://me:hunter2@host/", environ={"SECRET": SECRET})
    for shown in (repr(settings), str(settings), settings.model_dump_json(), repr(context)):
        assert "t0ken" not in shown
        assert SECRET not in shown
        assert "hunter2" not in shown


async def test_binary_mode_sends_data_alone(make: Make) -> None:
    """Attributes become headers, percent-encoded where they must be, and data's bytes are a slice of the event's."""
    delivery = sample_delivery(tenant="acme", note='snö "1" 100%')
    async with receiver() as there:
        await make("webhook", {"url": there.url, "mode": "binary"}).deliver(delivery)
    (request,) = there.requests
    assert request.body in delivery.event.raw
    assert orjson.loads(request.body) == delivery.event.data
    assert request.headers["content-type"] == "application/json"
    assert request.headers["ce-id"] == delivery.event.id
    assert request.headers["ce-specversion"] == "1.0"
    assert request.headers["ce-kamajiterm"] == "1"
    assert "ce-data" not in request.headers
    assert "ce-datacontenttype" not in request.headers


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, {}, Delivered),
        (202, {}, Delivered),
        (204, {}, Delivered),
        (301, {"location": "https://elsewhere.example/secret-path"}, Failed),
        (304, {}, Failed),
        (400, {}, Failed),
        (404, {}, Failed),
        (410, {}, Gone),
        (413, {}, Rejected),
        (415, {}, Failed),
        (422, {}, Failed),
        (429, {}, Throttled),
        (500, {}, Failed),
        (503, {}, Failed),
        (503, {"retry-after": "17"}, Throttled),
    ],
)
async def test_what_a_status_means(make: Make, status: int, headers: dict[str, str], expected: type) -> None:
    """Each status has one outcome."""
    async with receiver(response(status, headers=headers)) as there:
        outcome = await make("webhook", {"url": there.url}).deliver(sample_delivery())
    assert isinstance(outcome, expected)
    assert "secret-path" not in str(outcome)
    assert len(there.requests) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (format_datetime(datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(datetime.fromtimestamp(NOW, UTC) - timedelta(hours=1), usegmt=True), 0.0),
        ("soon", None),
        ("-5", None),
    ],
)
async def test_retry_after_in_seconds_and_as_a_date(make: Make, value: str, seconds: float | None) -> None:
    """Retry-After comes with the outcome, in seconds from now; nonsense is none."""
    async with receiver(response(429, headers={"retry-after": value})) as there:
        outcome = await make("webhook", {"url": there.url}, clock=lambda: NOW).deliver(sample_delivery())
    assert isinstance(outcome, Throttled)
    assert outcome.retry_after == seconds


async def test_a_users_own_meaning_of_a_status(make: Make) -> None:
    """A receiver that answers 409 to a copy can be told so."""
    async with receiver(response(409)) as there:
        sink = make("webhook", {"url": there.url, "statuses": {"409": "delivered"}})
        assert await sink.deliver(sample_delivery()) == Delivered("409")


async def test_an_error_shows_a_short_printable_excerpt(make: Make) -> None:
    """What the receiver said is cut, on one line, without control characters."""
    async with receiver(response(500, b"broken\r\n\x1b[31m" + b"x" * 5000)) as there:
        outcome = await make("webhook", {"url": there.url}).deliver(sample_delivery())
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith(f"http://127.0.0.1:{there.port} answered 500: broken ?[31m")
    assert len(outcome.error) < 300
    assert "\n" not in outcome.error


async def test_ten_megabytes_are_not_read(make: Make) -> None:
    """A huge body costs its connection, neither memory nor the outcome."""
    written = 0

    async def flood(_: Request, writer: asyncio.StreamWriter) -> bool:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10485760\r\n\r\n")
        while written < 10_485_760:
            writer.write(b"x" * 65536)
            await writer.drain()
            written += 65536
        return True

    async with receiver(flood) as there:
        assert await make("webhook", {"url": there.url}).deliver(sample_delivery()) == Delivered("200")
    assert written < 10_485_760


async def test_garbage_and_early_closes_are_failures(make: Make) -> None:
    """What is no HTTP, nothing at all, half a head: each is a failure with one line on it, after one request."""

    def bytes_then_close(data: bytes) -> Callable[[Request, asyncio.StreamWriter], object]:
        async def answer(_: Request, writer: asyncio.StreamWriter) -> bool:
            writer.write(data)
            await writer.drain()
            return False

        return answer

    for data in (b"", b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-le", b"\x00" * 100):
        async with receiver(bytes_then_close(data)) as there:  # type: ignore[arg-type]
            outcome = await make("webhook", {"url": there.url}).deliver(sample_delivery())
        assert isinstance(outcome, Failed), data
        assert outcome.error.startswith(f"http://127.0.0.1:{there.port}: "), data
        assert len(there.requests) == 1, data


async def test_a_kept_connection_that_was_closed_is_no_failure(make: Make) -> None:
    """The receiver closed while the connection was idle: the event goes out on a new one, in the same try."""

    async def one_each(request: Request, writer: asyncio.StreamWriter) -> bool:
        if request.connection == 1 and len(there.requests) == 2:
            return False
        return await response()(request, writer)

    async with receiver(one_each) as there:
        sink = make("webhook", {"url": there.url})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        assert await sink.deliver(sample_delivery()) == Delivered("204")
    assert [request.connection for request in there.requests] == [1, 1, 2]
    assert len({request.headers["webhook-id"] for request in there.requests}) == 1


async def test_refused_connections_are_failures(make: Make) -> None:
    """Nobody listens there."""
    async with receiver() as there:
        pass
    outcome = await make("webhook", {"url": there.url}).deliver(sample_delivery())
    assert isinstance(outcome, Failed)
    assert "refused" in outcome.error.lower()


async def test_a_receiver_that_hangs_times_out(make: Make) -> None:
    """Silence ends with the read timeout, an endless trickle before the status with the total one."""

    async def silent(_: Request, __: asyncio.StreamWriter) -> bool:
        await asyncio.Event().wait()
        return True

    async def trickle(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    for answer, timeouts in ((silent, {"read": 0.1}), (trickle, {"total": 0.3, "read": 0.2})):
        async with receiver(answer) as there:
            outcome = await make("webhook", {"url": there.url, "timeouts": timeouts}).deliver(sample_delivery())
        assert isinstance(outcome, Failed)
        assert "no answer" in outcome.error


async def test_foreign_ids_make_safe_headers(make: Make) -> None:
    """An id with dots, spaces or other letters never breaks a header, and different ids stay different."""
    delivery = sample_delivery()
    found = set()
    async with receiver() as there:
        sink = make("webhook", {"url": there.url, "mode": "binary"})
        for identifier in ("a.b", "a:b", "a b\r\nx: y", "snö", "x" * 5000):
            raw = orjson.dumps({**delivery.event.attributes, "id": identifier, "data": {}})
            event = type(delivery.event).from_bytes(raw)
            assert await sink.deliver(type(delivery)(event, "pager")) == Delivered("204")
            found.add(there.requests[-1].headers["webhook-id"])
            assert "x" not in there.requests[-1].headers
    assert len(found) == 5
    assert all("." not in identifier for identifier in found)


async def test_binary_data_of_other_kinds(make: Make) -> None:
    """data_base64 is decoded, text is itself, and what cannot be taken out is rejected."""
    delivery = sample_delivery()

    def with_data(**members: object) -> type(delivery):  # type: ignore[valid-type]
        attributes = {**delivery.event.attributes, **members}
        return type(delivery)(type(delivery.event).from_bytes(msgspec.json.encode(attributes)), "pager")

    async with receiver() as there:
        sink = make("webhook", {"url": there.url, "mode": "binary"})
        assert await sink.deliver(with_data(data_base64="aGVsbG8=", datacontenttype="text/plain")) == Delivered("204")
        assert await sink.deliver(with_data(data='say "hi"', datacontenttype="text/plain")) == Delivered("204")
        assert isinstance(await sink.deliver(with_data(data_base64="?")), Rejected)
    assert [request.body for request in there.requests] == [b"hello", b'say "hi"']
