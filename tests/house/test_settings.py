"""Settings: where values come from, which one wins, and what a mistake is told like."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from kamaji_events.duration import Duration
from kamaji_events.errors import SettingsError
from kamaji_events.settings import Settings


class Group(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(extra="forbid")

    upgrade: Duration = 900
    create: Duration = 600


class Mine(Settings):
    """A service's settings."""

    cluster: str
    names: tuple[str, ...] = ()
    password: SecretStr | None = None
    limits: Group = Field(default_factory=Group)


def _load(environ: dict[str, str] | None = None, **flags: Any) -> Mine:
    return Mine.load(environ={"KAMAJI_EVENTS_CLUSTER": "eu-1", **(environ or {})}, **flags)


def test_a_flag_beats_the_environment_that_beats_a_secret_file_that_beats_yaml(tmp_path: Path) -> None:
    """The documented order holds, layer by layer."""
    (tmp_path / "secret").write_text("amqp://from-secret\n")
    file = tmp_path / "settings.yaml"
    file.write_text("amqp_url: amqp://from-yaml\nlog_level: warning\nhealth_port: 1\ncluster: yaml\n")
    environ = {"KAMAJI_EVENTS_AMQP_URL_FILE": str(tmp_path / "secret"), "KAMAJI_EVENTS_HEALTH_PORT": "2"}

    settings = Mine.load(config=file, environ=environ, health_port=3, cluster=None)

    assert settings.log_level == "warning"
    assert settings.amqp_url.get_secret_value() == "amqp://from-secret"
    assert settings.health_port == 3
    assert settings.cluster == "yaml"
    direct = Mine.load(config=file, environ={**environ, "KAMAJI_EVENTS_AMQP_URL": "amqp://direct"})
    assert direct.amqp_url.get_secret_value() == "amqp://direct"


@pytest.mark.parametrize("variable", ["AMQP_URL", "KAMAJI_EVENTS_AMQP_URL"])
def test_the_broker_has_two_names_in_the_environment(variable: str, tmp_path: Path) -> None:
    """AMQP_URL is what people have set already; both also exist as a file."""
    (tmp_path / "url").write_text("amqp://in-file")

    assert _load({variable: "amqp://direct"}).amqp_url.get_secret_value() == "amqp://direct"
    assert _load({f"{variable}_FILE": str(tmp_path / "url")}).amqp_url.get_secret_value() == "amqp://in-file"


def test_groups_merge_layer_by_layer(tmp_path: Path) -> None:
    """A variable of one member keeps the file's others."""
    file = tmp_path / "settings.yaml"
    file.write_text("limits: {upgrade: 20m, create: 5m}\n")

    settings = _load({"KAMAJI_EVENTS_CONFIG": str(file), "KAMAJI_EVENTS_LIMITS__UPGRADE": "1h30m"})

    assert settings.limits == Group(upgrade=5400, create=300)


@pytest.mark.parametrize("text", ["a,b", "a, b,", '["a", "b"]'])
def test_a_list_is_written_with_commas_or_as_json(text: str) -> None:
    """Both spellings read the same."""
    assert _load({"KAMAJI_EVENTS_NAMES": text}).names == ("a", "b")


def test_an_empty_variable_is_not_set() -> None:
    """Charts and compose files write empty variables for what is left open."""
    assert _load({"KAMAJI_EVENTS_HEALTH_PORT": ""}).health_port == 8080


@pytest.mark.parametrize(
    ("environ", "flags", "told"),
    [
        ({"KAMAJI_EVENTS_HEALTH_PORT": "web"}, {}, "KAMAJI_EVENTS_HEALTH_PORT: "),
        ({"AMQP_URL": "http://user:hush@x"}, {}, "AMQP_URL: must start with amqp://"),
        ({"KAMAJI_EVENTS_LIMITS__UPGRADE": "soon"}, {}, "KAMAJI_EVENTS_LIMITS__UPGRADE: write a duration"),
        ({}, {"health_port": 99_999}, "--health-port: "),
        ({"KAMAJI_EVENTS_NAMES": "[a"}, {}, "KAMAJI_EVENTS_NAMES: not JSON"),
        ({"AMQP_URL_FILE": "/nowhere/secret"}, {}, "AMQP_URL_FILE: cannot read /nowhere/secret"),
        ({"KAMAJI_EVENTS_CONFIG": "/nowhere/c.yaml"}, {}, "settings file /nowhere/c.yaml: No such file"),
        ({"KAMAJI_EVENTS_CLUSTER": ""}, {}, "KAMAJI_EVENTS_CLUSTER (or --cluster) is missing"),
    ],
)
def test_a_mistake_names_its_place(environ: dict[str, str], flags: dict[str, Any], told: str) -> None:
    """One line: the variable, flag or file as the user wrote it, and no value that could be a secret."""
    with pytest.raises(SettingsError) as caught:
        _load(environ, **flags)

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("clustre: x", "unknown key 'clustre'; did you mean 'cluster'?"),
        ("limits: {upgrad: 1m}", "limits.upgrad is no setting"),
        ("cluster: [", "not YAML"),
        ("- a", "write 'key: value' lines, this is a list"),
        ("health_port: web", "settings.yaml: health_port: "),
    ],
)
def test_a_mistake_in_the_file_names_file_and_key(tmp_path: Path, yaml: str, told: str) -> None:
    """The file's path and the key are in the line."""
    file = tmp_path / "settings.yaml"
    file.write_text(yaml)

    with pytest.raises(SettingsError) as caught:
        _load(config=file)

    assert str(file) in str(caught.value)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_summary_shows_everything_but_secrets() -> None:
    """A start's log line can be shared."""
    summary = _load({"AMQP_URL": "amqp://user:hush@x", "KAMAJI_EVENTS_PASSWORD": "hush"}).summary()

    assert summary["amqp_url"] is True
    assert summary["password"] is True
    assert summary["cluster"] == "eu-1"
    assert summary["limits"] == {"upgrade": 900, "create": 600}
    assert "hush" not in json.dumps(summary)


def test_the_shared_defaults_are_pinned() -> None:
    """A default moves only on purpose: users rely on it."""
    defaults = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}

    assert {**defaults, "amqp_url": defaults["amqp_url"].get_secret_value()} == {
        "amqp_url": "amqp://guest:guest@127.0.0.1:5672/",
        "prefix": "kamaji",
        "log_level": "info",
        "log_format": "auto",
        "health_host": "0.0.0.0",
        "health_port": 8080,
    }
    assert all(field.description for field in Settings.model_fields.values())
