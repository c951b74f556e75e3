"""Sinks by name, and what is said of settings that cannot be used."""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from consumers.sinks import registry
from consumers.sinks.base import Delivered, Failed, Sink
from consumers.sinks.context import SinkContext
from consumers.sinks.registry import build
from kamaji_events.errors import SettingsError
from tests.support.samples import SECRET, sample_delivery

Make = Callable[..., Sink]

_URL = "https://example.com/hook"


def _problem(name: str, settings: Any, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        build(name, settings, where="subs.yaml: pager", context=SinkContext(environ=environ))
    assert str(caught.value).startswith("subs.yaml: pager: ")
    return str(caught.value).removeprefix("subs.yaml: pager: ")


def test_built_in_names() -> None:
    """The built-in sinks are there."""
    assert {"webhook", "log"} <= set(registry.names())


def test_unknown_sink_names_the_nearest() -> None:
    """A slip of the pen gets the right word."""
    assert "did you mean 'webhook'?" in _problem("webhok", {})
    assert "installed are" in _problem("carrier-pigeon", {})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "webhook.url: is missing"),
        ({"url": _URL, "timeout": 3}, "webhook.timeout: unknown key; did you mean 'timeouts'?"),
        ({"url": _URL, "timeouts": {"totl": 3}}, "webhook.timeouts.totl: unknown key; did you mean 'total'?"),
        ({"url": _URL, "timeouts": {"total": 0}}, "webhook.timeouts: each timeout must be more than 0"),
        ({"url": "example.com"}, "webhook.url: must be a URL that starts with https://"),
        ({"url": "https://me:pw@example.com/"}, "webhook.url: must not hold a user and password"),
        ({"url": "https://example.com/#x"}, "webhook.url: must not have a fragment"),
        ({"url": _URL, "mode": "bulk"}, "webhook.mode: Input should be"),
        ({"url": _URL, "signature": {}}, "webhook.signature: needs secrets or ed25519"),
        ({"url": _URL, "signature": {"secrets": [SECRET]}}, "webhook.signature.secrets[0]: a secret must not stand in"),
        ({"url": _URL, "signature": {"secrets": [{"fromEnv": "NO"}]}}, "the environment variable NO is not set"),
        ({"url": _URL, "signature": {"secrets": [{"fromFile": "/nowhere/x"}]}}, "cannot read /nowhere/x: No such file"),
        ({"url": _URL, "signature": {"secrets": [{}]}}, "needs exactly one of fromFile and fromEnv"),
        ({"url": _URL, "headers": {"Webhook-Id": "x"}}, "'Webhook-Id' is written by the sink itself"),
        ({"url": _URL, "headers": {"a b": "x"}}, "'a b' is no header's name"),
        ({"url": _URL, "headers": {"x": "a\nb"}}, "must be printable ASCII"),
        ({"url": _URL, "statuses": {"99": "gone"}}, "99 is no status"),
        ({"url": "http://169.254.169.254/latest"}, "169.254.169.254 is metadata"),
        ({"url": "http://[::1]:80/"}, "::1 is loopback; to allow it: egress.allow: [loopback]"),
        ({"url": _URL, "egress": {"allow": ["home"]}}, "'home' is no network"),
        ({"url": _URL, "tls": {"ca": "/nowhere/ca.pem"}}, "tls: cannot read /nowhere/ca.pem"),
        ({"url": _URL, "tls": {"key": "/x"}}, "key and keyPassword need cert"),
        ("https://example.com", "webhook: write keys and values: "),
        ({"url": _URL, "proxy": {"url": "http://proxy:3128", "username": "me"}}, "belong together"),
    ],
)
def test_each_mistake_has_one_line_with_the_cure(settings: Any, told: str) -> None:
    """The line names the subscription, the key and what to write."""
    problem = _problem("webhook", settings)
    assert told in problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ("v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "starts with 'v1,': leave that out"),
        ('"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"', "quotation marks"),
        ("my-password", "does not start with 'whsec_'"),
        ("whsec_c2hvcnQ=", "has 5 bytes, 24 to 64 are needed"),
        ("whsec_d2hzZWNfTWZLUTlyOEdLWXFyVHdqVVBEOElMUFpJbzJMYUxhU3c=", "base64-encoded as a whole"),
        ("whsec_-_KQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "URL-safe base64"),
        ("whsec_!!!!", "is no base64"),
        ("whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "that is an ed25519 key"),
    ],
)
def test_known_wrong_forms_of_a_signing_secret(secret: str, told: str) -> None:
    """Each known mistake is told, without the secret."""
    problem = _problem("webhook", {"url": _URL, "signature": {"secrets": [{"fromEnv": "KEY"}]}}, KEY=secret)
    assert told in problem
    assert "webhook.signature.secrets[0]" in problem
    assert secret not in problem


def test_a_secret_url_is_never_shown(tmp_path: Path) -> None:
    """A URL from a file is checked like any other, and stays out of the error."""
    (tmp_path / "url").write_text("https://user:hunter2@example.com/T0/B0/token\n")
    problem = _problem("webhook", {"url": {"fromFile": str(tmp_path / "url")}})
    assert "webhook.url" in problem
    assert "hunter2" not in problem
    assert "token" not in problem


class _Plain:
    """A plug-in's sink."""

    class Settings(BaseModel):
        """None."""

    def __init__(self, settings: Any, context: SinkContext) -> None:  # noqa: ARG002
        self.subscription = context.subscription
        if context.subscription == "bad":
            raise ValueError("these do not fit together")


def test_plug_ins_are_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in is found by its name; one that cannot be imported or built is told."""
    sys.modules["a_plug_in"] = sys.modules[__name__]
    found = [
        EntryPoint("plain", "a_plug_in:_Plain", registry.GROUP),
        EntryPoint("broken", "no_such_module:Sink", registry.GROUP),
        EntryPoint("log", "no_such_module:Sink", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)  # noqa: ARG005
    made: Any = build("plain", None, context=SinkContext(subscription="x"))
    assert made.subscription == "x"
    assert "plain" in registry.names()
    assert "cannot be loaded: No module named 'no_such_module'" in _problem("broken", {})
    with pytest.raises(SettingsError, match="plain: these do not fit together"):
        build("plain", None, context=SinkContext(subscription="bad"))
    build("log", {})


async def test_log_writes_one_line_for_each_event(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    """The line is the event's own JSON, on one line whatever its layout was."""
    sink = make("log", {})
    delivery = sample_delivery()
    assert await sink.deliver(delivery) == Delivered()
    pretty = orjson.dumps(orjson.loads(delivery.event.raw), option=orjson.OPT_INDENT_2)
    await sink.deliver(type(delivery)(type(delivery.event).from_bytes(pretty), "pager"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].encode() == delivery.event.raw
    assert orjson.loads(lines[1]) == orjson.loads(delivery.event.raw)


async def test_a_closed_stream_is_a_failure(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What cannot be written is tried again."""
    stream = (tmp_path / "out").open("w")
    stream.close()
    monkeypatch.setattr(sys, "stdout", stream)
    assert isinstance(await make("log", {}).deliver(sample_delivery()), Failed)
