"""Body templates: the shipped examples, and what a template may and may not do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from consumers.sinks.base import Delivered, Rejected, Sink
from consumers.sinks.webhook.template import BodyTemplate, TemplateSettings
from kamaji_events.catalogue import CATALOGUE
from kamaji_events.errors import SettingsError
from tests.support.receiver import receiver
from tests.support.samples import SECRET, sample_delivery

Make = Callable[..., Sink]

_EXAMPLES = Path(__file__).parents[2] / "examples" / "templates"


async def _rendered(make: Make, template: dict[str, Any], *names: tuple[str, dict[str, Any]]) -> list[Any]:
    async with receiver() as there:
        sink = make("webhook", {"url": there.url, "template": template}, environ={"KEY": "r0uting"})
        for name, given in names:
            assert await sink.deliver(sample_delivery(name, **given)) == Delivered("204")
    return [json.loads(request.body) for request in there.requests]


@pytest.mark.parametrize("file", sorted(path.name for path in _EXAMPLES.glob("*.j2")))
def test_every_example_takes_every_event(file: str) -> None:
    """Each shipped template makes JSON of each event of the catalogue, bare or full."""
    given = {"file": str(_EXAMPLES / file), "variables": {"routing_key": "r0uting"}}
    template = BodyTemplate(TemplateSettings.model_validate(given))
    for row in CATALOGUE:
        for data in ({"note": '"quotes" \\ and\nlines'}, {"object": None, "state": None, "operation": None}):
            _, body = template.render(sample_delivery(row.name, kind=row.kind, **data))
            assert json.loads(body)


async def test_teams(make: Make) -> None:
    """An adaptive card with the headline and the facts."""
    (body,) = await _rendered(make, {"file": str(_EXAMPLES / "teams.json.j2")}, ("upgrade.completed", {}))
    card = body["attachments"][0]["content"]
    assert card["type"] == "AdaptiveCard"
    assert card["body"][0]["text"] == "Upgrade completed: v1.31.4 → v1.32.0 in 1 min 23 s"
    assert card["body"][2]["facts"][0]["value"] == "tenants/acme on eu-1"


async def test_pagerduty_resolves_what_it_triggered(make: Make) -> None:
    """Start and end share the key of one incident; the routing key comes from a secret."""
    template = {"file": str(_EXAMPLES / "pagerduty.json.j2"), "variables": {"routing_key": {"fromEnv": "KEY"}}}
    started, ended, stalled, completed = await _rendered(
        make,
        template,
        ("outage.started", {}),
        ("outage.ended", {"counter": 9, "durationSeconds": 61}),
        ("upgrade.stalled", {}),
        ("upgrade.completed", {}),
    )
    assert [started["event_action"], ended["event_action"]] == ["trigger", "resolve"]
    assert started["dedup_key"] == ended["dedup_key"] != stalled["dedup_key"] == completed["dedup_key"]
    assert started["routing_key"] == "r0uting"
    assert started["payload"]["severity"] == "critical"


async def test_alertmanager_ends_the_alert_that_it_fired(make: Make) -> None:
    """Labels are the alert's identity: the same at the start and at the end."""
    template = {"file": str(_EXAMPLES / "alertmanager.json.j2")}
    (started,), (ended,) = await _rendered(make, template, ("outage.started", {}), ("outage.ended", {"seconds": 5e8}))
    assert started["labels"] == ended["labels"]
    assert started["labels"]["alertname"] == "KamajiOutage"
    assert started["endsAt"] > started["startsAt"]
    assert "startsAt" not in ended


async def test_a_templates_body_is_signed(make: Make) -> None:
    """The signature covers what is sent, and the id is the event's."""
    async with receiver() as there:
        settings = {
            "url": there.url,
            "template": {"inline": "{{ headline }} <&>", "contentType": "text/plain"},
            "signature": {"secrets": [{"fromEnv": "SECRET"}]},
        }
        assert await make("webhook", settings).deliver(sample_delivery()) == Delivered("204")
    (request,) = there.requests
    assert request.body.decode() == "Upgrade completed: v1.31.4 → v1.32.0 in 1 min 23 s <&>"
    assert request.headers["content-type"] == "text/plain"
    Webhook(SECRET).verify(request.body, request.headers, json_parse=False)


@pytest.mark.parametrize(
    ("inline", "told"),
    [
        ("{{ data.nothing.at.all }}", "fails on upgrade.completed"),
        ("{{ event.__class__.__mro__ }}", "fails on upgrade.completed"),
        ("{{ ''.__class__.__base__.__subclasses__() }}", "unsafe"),
        ("{{ data.update({'a': 1}) }}", "fails on upgrade.completed"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% for i in range(999999999) %}x{% endfor %}", "Range too big"),
        ("{{ 'x' * 3000000 }}", "are allowed"),
        ("not JSON", "makes no JSON of upgrade.completed"),
    ],
)
async def test_what_a_template_cannot_do(make: Make, inline: str, told: str) -> None:
    """A template that fails on an event rejects it and says why; nothing is sent."""
    async with receiver() as there:
        outcome = await make("webhook", {"url": there.url, "template": {"inline": inline}}).deliver(sample_delivery())
    assert isinstance(outcome, Rejected)
    assert told in outcome.error
    assert there.requests == []


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ({}, "webhook.template: needs exactly one of file and inline"),
        ({"inline": "{{ x"}, "webhook: template: line 1: "),
        ({"file": "/nowhere/t.j2"}, "webhook: template: cannot read /nowhere/t.j2: No such file"),
    ],
)
def test_templates_that_cannot_be_used(make: Make, template: dict[str, Any], told: str) -> None:
    """It is said when the sink is built."""
    with pytest.raises(SettingsError) as caught:
        make("webhook", {"url": "https://x.example", "template": template})
    assert told in str(caught.value)


async def test_a_missing_middle_can_have_a_default(make: Make) -> None:
    """``data.a.b | default`` is fine although ``data.a`` is absent."""
    bodies = await _rendered(make, {"inline": "{{ data.a.b | default(7) }}"}, ("state.ready", {}))
    assert bodies == [7]
