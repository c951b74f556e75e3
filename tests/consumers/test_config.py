"""The subscriptions file: what it may say, and how it says what is wrong."""

from pathlib import Path

import pytest

from consumers.config import load_config, read_config
from consumers.policy import Circuit, Ordering, Policy, Quota
from kamaji_events.errors import SettingsError

FULL = """
defaults:
  delivery: {timeout: 10s, rate: 5/s, circuit: {failures: 9}}
subscriptions:
  - name: billing
    filter:
      events: ["upgrade.*", "*.completed"]
      clusters: [eu-1]
      namespaces: ["tenant-*"]
      labels: tier=gold
    from: 24h
    sink: {webhook: {url: "https://x.example"}}
    delivery:
      ordering: object
      delays: [5s, 2min]
      maxAge: 2d
      quietHours: [{from: "22:00", to: "06:00", timezone: Europe/Berlin}]
      rate: null
      circuit: {probeMost: 1h}
      quota: {bytes: 1GB, messages: null}
  - name: all
    sink: log
"""


def test_everything_is_read() -> None:
    """Every key has its effect; defaults hold where a subscription says nothing."""
    billing, everything = read_config(FULL).subscriptions
    assert (billing.name, billing.sink, dict(billing.sink_settings)) == (
        "billing",
        "webhook",
        {"url": "https://x.example"},
    )
    assert billing.history == 86400
    policy = billing.policy
    assert (policy.ordering, policy.delays, policy.tries) == (Ordering.OBJECT, (5.0, 120.0), 3)
    assert (policy.timeout, policy.rate, policy.max_age) == (10.0, None, 172_800.0)
    assert policy.circuit == Circuit(failures=9, probe_most=3600.0)
    assert policy.quota == Quota(messages=None, bytes=10**9)
    assert str(policy.quiet_hours[0].zone) == "Europe/Berlin"
    assert (everything.sink, everything.policy.timeout, everything.policy.rate) == ("log", 10.0, 5.0)


def test_a_subscription_without_a_policy_has_the_defaults() -> None:
    """What is not said is the policy's default."""
    (only,) = read_config("subscriptions: [{name: a, sink: log}]").subscriptions
    assert only.policy == Policy()
    assert only.history is None


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("timeout: 10s", "timeuot: 10s", "x.yaml:3: defaults.delivery.timeuot: unknown key; did you mean 'timeout'?"),
        ("timeout: 10s", "timeout: 10x", "x.yaml:3: defaults.delivery.timeout: write a duration"),
        ("upgrade.*", "upgrad.*", "x.yaml:7: subscriptions[0].filter.events[0]: event pattern 'upgrad.*' matches no"),
        ("tier=gold", "a=b=c", "x.yaml:10: subscriptions[0].filter.labels: label selector 'a=b=c'"),
        ("tenant-*", "a.b", "x.yaml:9: subscriptions[0].filter.namespaces[0]: namespace pattern 'a.b'"),
        ("name: billing", "name: Billing", "x.yaml:5: subscriptions[0].name: 'Billing': write 1 to 63 lower-case"),
        ("name: all", "name: billing", "x.yaml:21: subscriptions[1].name: the name 'billing' is taken by x.yaml:5"),
        ("1GB", "1G", "subscriptions[0].delivery.quota.bytes: write a size"),
        ("{webhook: {url", "{webhook: {}, slack: {url", "subscriptions[0].sink: write one sink"),
        ("ordering: object", "ordering: some", "subscriptions[0].delivery.ordering: should be 'none' or 'object'"),
        ("from: 24h", "from: 24h\n    from: 1h", "x.yaml:12: subscriptions[0].from: the key is given twice, first in"),
        ("from: 24h", "from: soon", "subscriptions[0].from: write a duration"),
        ("rate: null", "rate: 10", "subscriptions[0].delivery.rate: write a rate such as"),
        ('"22:00"', "2200", "subscriptions[0].delivery.quietHours[0].from: write a time of day"),
        ("Europe/Berlin", "Europa/Berlin", "quietHours[0].timezone: 'Europa/Berlin' is no time zone"),
        ("[5s, 2min]", "5s", "subscriptions[0].delivery.delays: write a list"),
        ("[5s, 2min]", "[]", "subscriptions[0].delivery.delays: write at least one delay"),
        ("    sink: log", "", "x.yaml:21: subscriptions[1]: 'sink' is missing; add it"),
        ("subscriptions:", "subscription:", "subscriptions"),
        ("defaults:", "defaults: [", "x.yaml:4: not YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_cure(right: str, wrong: str, said: str) -> None:
    """One line: the file, the line, the key, and what to write."""
    text = FULL.replace(right, wrong, 1)
    assert text != FULL
    with pytest.raises(SettingsError) as raised:
        read_config(text, name="x.yaml")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "just text", "[1, 2]", "null"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    """An empty file is told what belongs into it."""
    with pytest.raises(SettingsError, match="write 'subscriptions:'"):
        read_config(text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error names the path."""
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: No such file"):
        load_config(tmp_path / "nowhere.yaml")


def test_secrets_in_sink_settings_are_not_shown() -> None:
    """A subscription's repr leaves the sink's settings out."""
    (only,) = read_config("subscriptions: [{name: a, sink: {webhook: {token: s3cret}}}]").subscriptions
    assert "s3cret" not in repr(only)


def test_a_name_that_is_unknown_is_answered_with_a_near_one() -> None:
    """Looking one up by a wrong name offers the right one."""
    with pytest.raises(SettingsError, match="did you mean 'billing'"):
        read_config(FULL).get("biling")
