"""`subscriptions check` and `subscriptions test`, as a user runs them."""

import asyncio
from pathlib import Path

import jsonschema
import pytest

from kamaji_events.catalogue import CATALOGUE, EventType, Kind
from kamaji_events.cli.made_up import made_up
from kamaji_events.errors import FilterError
from kamaji_events.schema import schema_of
from tests.support.command import kamaji_events
from tests.support.receiver import receiver, response

_FILE = """\
subscriptions:
  - name: hook
    filter: {{events: ["upgrade.*"], namespaces: [tenants], labels: tier=gold}}
    sink:
      webhook: {{url: "{url}", egress: {{allow: [loopback]}}, signature: {{secrets: [{{fromEnv: HOOK_SECRET}}]}}}}
  - name: all
    enabled: false
    sink: log
"""
_ENV = {"HOOK_SECRET": "whsec_a2FtYWppLWV2ZW50cy1jb21wb3NlLWV4YW1wbGU="}


def _file(folder: Path, text: str = _FILE, url: str = "http://127.0.0.1:1/") -> str:
    path = folder / "subs.yaml"
    path.write_text(text.format(url=url) if text is _FILE else text)
    return str(path)


def test_check_shows_each_subscription(tmp_path: Path) -> None:
    """Name, filter, sink and policy in one line, and no secret."""
    done = kamaji_events("subscriptions", "check", _file(tmp_path), env=_ENV)

    assert done.returncode == 0, done.stderr
    assert "hook: upgrade.*; in namespaces tenants; with labels tier=gold -> webhook (10 tries" in done.stdout
    assert "all: every event; not enabled: events gather -> log" in done.stdout
    assert "2 subscriptions, nothing wrong" in done.stdout
    assert "whsec_" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("subscriptions: [{name: a, sink: log, filtre: {}}]", "filtre"),
        ("subscriptions: [{name: a, sink: weebhook}]", "did you mean 'webhook'"),
        ("subscriptions: [{name: a, sink: log, filter: {events: [upgarde.*]}}]", "did you mean 'upgrade."),
        ("subscriptions: [{name: a, sink: {webhook: {url: 'ftp://x'}}}]", "url"),
        ("subscriptions: [{name: a, sink: log}, {name: a, sink: log}]", "taken"),
        ("subscriptions: {", "subs.yaml"),
    ],
)
def test_check_names_file_key_and_cure(tmp_path: Path, text: str, told: str) -> None:
    """Exit code 2, one line, no traceback."""
    done = kamaji_events("subscriptions", "check", _file(tmp_path, text))

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "subs.yaml" in done.stderr
    assert told in done.stderr


def test_a_missing_secret_is_told_by_check(tmp_path: Path) -> None:
    """Secrets are looked at before they are needed."""
    done = kamaji_events("subscriptions", "check", _file(tmp_path))

    assert done.returncode == 2
    assert "HOOK_SECRET" in done.stderr


async def test_test_goes_the_way_of_a_delivery(tmp_path: Path) -> None:
    """One signed request of a made-up event; what the receiver answers decides the exit code."""
    async with receiver() as there:
        file = _file(tmp_path, url=there.url)
        good = await _in_thread("subscriptions", "test", "hook", "-s", file)
        there.answer = response(500)
        bad = await _in_thread("subscriptions", "test", "hook", "-s", file, "-e", "outage.started")

    assert good == 0
    assert bad == 1
    first, second = there.requests
    assert "webhook-signature" in first.headers
    assert b"tenantcontrolplane.upgrade.completed" in first.body
    assert b"tenantcontrolplane.outage.started" in second.body


async def _in_thread(*words: str) -> int:
    return (await asyncio.to_thread(kamaji_events, *words, env=_ENV)).returncode


def test_the_guard_also_guards_a_test(tmp_path: Path) -> None:
    """A loopback address that is not allowed is refused, with the cure."""
    text = "subscriptions: [{name: hook, sink: {webhook: {url: 'http://127.0.0.1:9/'}}}]"

    done = kamaji_events("subscriptions", "test", "hook", "-s", _file(tmp_path, text))

    assert done.returncode == 2
    assert "to allow it: egress.allow: [loopback]" in done.stderr


@pytest.mark.parametrize(
    "row", [row for row in CATALOGUE if row.kind is Kind.TENANTCONTROLPLANE], ids=lambda row: row.name
)
def test_every_event_of_a_control_plane_can_be_made_up(row: EventType) -> None:
    """Id and operationid fit the event, and its data is what the schema says."""
    event = made_up(row.name)

    jsonschema.validate(dict(event.data), schema_of(row))

    assert event.id.endswith(event.name) or event.operationid is not None
    assert event.data["reason"]["word"] == "Test"


@pytest.mark.parametrize("name", ["upgarde.completed", "usage.changed"])
def test_an_event_that_is_none_is_refused(name: str) -> None:
    """Unknown, or of another kind."""
    with pytest.raises(FilterError):
        made_up(name)
