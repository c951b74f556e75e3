"""What every HTTP sink shares: TLS, proxy, HTTP/2, authentication, secrets that rotate."""

import asyncio
import base64
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from consumers.sinks.base import Delivered, Failed, Sink
from kamaji_events.errors import SettingsError
from tests.support.proxy import proxy
from tests.support.receiver import Request, receiver, response
from tests.support.samples import NOW, sample_delivery

Make = Callable[..., Sink]


def _server(
    authority: trustme.CA, *names: str, client_ca: trustme.CA | None = None, h2: bool = False
) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
    if client_ca is not None:
        client_ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    if h2:
        context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    """An authority of one's own, its certificate in ``ca.pem``."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made


async def test_own_authority(make: Make, authority: trustme.CA, tmp_path: Path) -> None:
    """The given authority is trusted; without it the delivery fails and says so."""
    async with receiver(tls=_server(authority)) as there:
        url = there.url
        outcome = await make("webhook", {"url": url}).deliver(sample_delivery())
        assert isinstance(outcome, Failed)
        assert "certificate is not trusted" in outcome.error
        sink = make("webhook", {"url": url, "tls": {"ca": str(tmp_path / "ca.pem")}})
        assert await sink.deliver(sample_delivery()) == Delivered("204")


async def test_server_name(make: Make, authority: trustme.CA, tmp_path: Path) -> None:
    """A receiver whose certificate has another name than the URL."""
    async with receiver(tls=_server(authority, "inner.example")) as there:
        for http2 in (False, True):
            tls = {"ca": str(tmp_path / "ca.pem"), "serverName": "inner.example"}
            sink = make("webhook", {"url": there.url, "tls": tls, "http2": http2})
            assert await sink.deliver(sample_delivery()) == Delivered("204")


async def test_client_certificate_that_rotates(make: Make, authority: trustme.CA, tmp_path: Path) -> None:
    """mTLS: refused without a certificate, taken with one, and the next one is used when the files change."""
    seen = []

    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool:
        seen.append(writer.get_extra_info("peercert")["serialNumber"])
        await response()(request, writer)
        return False

    def write(name: str) -> None:
        made = authority.issue_cert(name)
        made.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem.new")
        (tmp_path / "cert.pem.new").write_bytes(made.private_key_and_cert_chain_pem.bytes())
        (tmp_path / "cert.pem.new").replace(tmp_path / "cert.pem")

    write("one.example")
    async with receiver(answer, tls=_server(authority, client_ca=authority)) as there:
        tls = {"ca": str(tmp_path / "ca.pem")}
        assert isinstance(await make("webhook", {"url": there.url, "tls": tls}).deliver(sample_delivery()), Failed)
        sink = make("webhook", {"url": there.url, "tls": {**tls, "cert": str(tmp_path / "cert.pem")}})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        (tmp_path / "cert.pem").write_text("half written")
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        write("two.example")
        assert await sink.deliver(sample_delivery()) == Delivered("204")
    assert len(seen) == 3
    assert seen[0] == seen[1] != seen[2]


async def test_http_proxy(make: Make, authority: trustme.CA, tmp_path: Path) -> None:
    """HTTPS goes through CONNECT with the proxy's credentials, HTTP in absolute form."""
    async with proxy() as between, receiver(tls=_server(authority)) as there, receiver() as plain:
        through = {"url": between.url, "username": "me", "password": {"fromEnv": "PW"}}
        tls = {"ca": str(tmp_path / "ca.pem")}
        sink = make("webhook", {"url": there.url, "proxy": through, "tls": tls}, environ={"PW": "hunter2"})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        sink = make("webhook", {"url": plain.url, "proxy": {"url": between.url}})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
    assert between.asked == [f"CONNECT 127.0.0.1:{there.port}", f"POST {plain.url}"]
    assert between.authorizations == ["Basic " + base64.b64encode(b"me:hunter2").decode()]


async def test_a_proxy_that_is_not_there(make: Make) -> None:
    """It is told that it is the proxy that fails."""
    async with receiver() as gone:
        pass
    sink = make("webhook", {"url": "http://receiver.example/x", "proxy": {"url": f"http://127.0.0.1:{gone.port}"}})
    outcome = await sink.deliver(sample_delivery())
    assert isinstance(outcome, Failed)
    assert "cannot connect to the proxy" in outcome.error


async def test_http2(make: Make, authority: trustme.CA, tmp_path: Path) -> None:
    """Several deliveries at once share one HTTP/2 connection."""
    from h2.config import H2Configuration  # noqa: PLC0415 - only here
    from h2.connection import H2Connection  # noqa: PLC0415
    from h2.events import DataReceived, RequestReceived, StreamEnded  # noqa: PLC0415

    bodies: dict[int, bytes] = {}
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        http2 = H2Connection(H2Configuration(client_side=False))
        http2.initiate_connection()
        writer.write(http2.data_to_send())
        while data := await reader.read(65536):
            for event in http2.receive_data(data):
                if isinstance(event, RequestReceived):
                    bodies[event.stream_id] = b""
                elif isinstance(event, DataReceived):
                    bodies[event.stream_id] += event.data
                elif isinstance(event, StreamEnded):
                    http2.send_headers(event.stream_id, [(":status", "204")], end_stream=True)
            writer.write(http2.data_to_send())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=_server(authority, h2=True))
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        sink = make("webhook", {"url": url, "http2": True, "tls": {"ca": str(tmp_path / "ca.pem")}})
        outcomes = await asyncio.gather(*(sink.deliver(sample_delivery()) for _ in range(5)))
        await sink.aclose()
    assert outcomes == [Delivered("204")] * 5
    assert set(bodies.values()) == {sample_delivery().event.raw}
    assert len(bodies) == 5
    assert connections == 1


async def test_http2_failures_have_outcomes(make: Make, authority: trustme.CA, tmp_path: Path) -> None:
    """Refused, unknown, untrusted, closed early: each is a failure as with HTTP/1.1."""

    async def close(_: Request, __: asyncio.StreamWriter) -> bool:
        return False

    async with receiver(close, tls=_server(authority)) as there:
        tls = {"ca": str(tmp_path / "ca.pem")}
        closing = await make("webhook", {"url": there.url, "http2": True, "tls": tls}).deliver(sample_delivery())
        untrusted = await make("webhook", {"url": there.url, "http2": True}).deliver(sample_delivery())
    refused = await make("webhook", {"url": there.url, "http2": True}).deliver(sample_delivery())
    unknown = await make("webhook", {"url": "http://no.invalid/", "http2": True}).deliver(sample_delivery())
    for outcome in (closing, untrusted, refused, unknown):
        assert isinstance(outcome, Failed), outcome
        assert "\n" not in outcome.error


async def test_a_key_with_a_password(make: Make, authority: trustme.CA, tmp_path: Path) -> None:
    """The right one opens it; a wrong or missing one is told at start, and nothing asks on the terminal."""
    issued = authority.issue_cert("x.example")
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2"))
    (tmp_path / "key.pem").write_bytes(encrypted)
    (tmp_path / "cert.pem").write_bytes(issued.cert_chain_pems[0].bytes())
    files = {"cert": str(tmp_path / "cert.pem"), "key": str(tmp_path / "key.pem")}
    locked = {**files, "keyPassword": {"fromEnv": "PW"}}
    make("webhook", {"url": "https://x.example", "tls": locked}, environ={"PW": "hunter2"})
    with pytest.raises(SettingsError, match="webhook: tls: cert"):
        make("webhook", {"url": "https://x.example", "tls": files})
    with pytest.raises(SettingsError, match="webhook: tls: cert"):
        make("webhook", {"url": "https://x.example", "tls": locked}, environ={"PW": "wrong"})


async def test_bearer_and_basic(make: Make, tmp_path: Path) -> None:
    """Both come from places; a token's file that changes counts from the next delivery on."""
    (tmp_path / "token").write_text("one\n")
    async with receiver() as there:
        sink = make("webhook", {"url": there.url, "auth": {"bearer": {"fromFile": str(tmp_path / "token")}}})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        (tmp_path / "token").write_text("another\n")
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        (tmp_path / "token").unlink()
        assert await sink.deliver(sample_delivery()) == Delivered("204")
        basic = {"username": "me", "password": {"fromEnv": "PW"}}
        sink = make("webhook", {"url": there.url, "auth": {"basic": basic}}, environ={"PW": "hunter2"})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
    found = [request.headers["authorization"] for request in there.requests]
    assert found == ["Bearer one", "Bearer another", "Bearer another", "Basic bWU6aHVudGVyMg=="]


class _TokenServer:
    """Gives tokens and knows which one is good."""

    def __init__(self) -> None:
        self.given = 0
        self.questions: list[Request] = []

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        self.questions.append(request)
        self.given += 1
        body = orjson.dumps({"access_token": f"token-{self.given}", "expires_in": 300})
        return await response(200, body)(request, writer)


def _oauth2(url: str, **more: Any) -> dict[str, Any]:
    client = {"tokenUrl": url, "clientId": "me", "clientSecret": {"fromEnv": "CLIENT_SECRET"}, "scope": "a b", **more}
    return {"oauth2": client}


async def test_oauth2_token_is_kept_and_renewed(make: Make) -> None:
    """One token serves many deliveries at once, until shortly before it ends, or until it is refused."""
    now = NOW
    refused = {"Bearer token-2"}
    tokens = _TokenServer()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> bool:
        return await response(401 if request.headers["authorization"] in refused else 204)(request, writer)

    async with receiver(tokens) as server, receiver(answer) as there:
        settings = {"url": there.url, "auth": _oauth2(server.url)}
        sink = make("webhook", settings, environ={"CLIENT_SECRET": "s&cret"}, clock=lambda: now)
        assert await asyncio.gather(*(sink.deliver(sample_delivery()) for _ in range(5))) == [Delivered("204")] * 5
        assert tokens.given == 1
        now += 271
        assert await asyncio.gather(*(sink.deliver(sample_delivery()) for _ in range(5))) == [Delivered("204")] * 5
        assert tokens.given == 3
    asked = tokens.questions[0]
    assert parse_qs(asked.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["a b"]}
    assert asked.headers["authorization"] == "Basic " + base64.b64encode(b"me:s%26cret").decode()


async def test_oauth2_credentials_in_the_body(make: Make) -> None:
    """For servers that want them there."""
    tokens = _TokenServer()
    async with receiver(tokens) as server, receiver() as there:
        settings = {"url": there.url, "auth": _oauth2(server.url, clientAuth="body", audience="x")}
        sink = make("webhook", settings, environ={"CLIENT_SECRET": "s&cret"})
        assert await sink.deliver(sample_delivery()) == Delivered("204")
    form = parse_qs(tokens.questions[0].body.decode())
    assert form["client_id"] == ["me"]
    assert form["client_secret"] == ["s&cret"]
    assert form["audience"] == ["x"]
    assert "authorization" not in tokens.questions[0].headers


async def test_a_token_that_cannot_be_got_is_a_failure(make: Make) -> None:
    """The token server's error word is shown, never its body or the secret; the receiver is not asked."""
    body = orjson.dumps({"error": "invalid_client", "error_description": "s&cret"})
    async with receiver(response(401, body)) as server, receiver() as there:
        sink = make("webhook", {"url": there.url, "auth": _oauth2(server.url)}, environ={"CLIENT_SECRET": "s&cret"})
        outcome = await sink.deliver(sample_delivery())
    assert isinstance(outcome, Failed)
    assert outcome.error == f"no OAuth2 token: http://127.0.0.1:{server.port} answered 401: invalid_client"
    assert there.requests == []


async def test_401_that_stays_is_one_failure(make: Make) -> None:
    """A refused new token is not asked for again and again."""
    tokens = _TokenServer()
    async with receiver(tokens) as server, receiver(response(401)) as there:
        settings = {"url": there.url, "auth": _oauth2(server.url)}
        outcome = await make("webhook", settings, environ={"CLIENT_SECRET": "x"}).deliver(sample_delivery())
    assert isinstance(outcome, Failed)
    assert outcome.status == 401
    assert len(there.requests) == 2
    assert tokens.given == 2


async def test_signing_keys_rotate_with_their_file(make: Make, tmp_path: Path) -> None:
    """One file with two secrets signs twice; a broken rotation goes on with the keys before it."""
    key = tmp_path / "keys"

    def write(text: str) -> None:
        (tmp_path / "new").write_text(text)
        os.replace(tmp_path / "new", key)  # noqa: PTH105 - as Kubernetes does, in one step

    write("whsec_" + "QUFB" * 10)
    async with receiver() as there:
        settings = {"url": there.url, "signature": {"secrets": [{"fromFile": str(key)}]}}
        sink = make("webhook", settings)
        for text in (None, "whsec_" + "QUFB" * 10 + "\nwhsec_" + "QkJC" * 10, "nonsense"):
            if text is not None:
                write(text)
            assert await sink.deliver(sample_delivery()) == Delivered("204")
    assert [len(request.headers["webhook-signature"].split()) for request in there.requests] == [1, 2, 2]


def test_http2_needs_its_package_and_no_proxy(make: Make) -> None:
    """What does not go together is said when the sink is built."""
    with pytest.raises(Exception, match="http2 and proxy do not go together"):
        make("webhook", {"url": "https://x.example", "http2": True, "proxy": {"url": "http://p:1"}})
