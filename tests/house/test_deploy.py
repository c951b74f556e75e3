"""Chart, compose file and image: valid, without root, and with no right to write."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from consumers.config import load_config
from consumers.settings import ConsumerSettings
from publisher.settings import PublisherSettings

_ROOT = Path(__file__).resolve().parents[2]
_CHART = _ROOT / "charts/kamaji-events"
_COMPOSE = _ROOT / "compose/compose.yaml"


def _compose_command() -> list[str] | None:
    for words in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(words[0])
            and not subprocess.run([*words, "version"], capture_output=True, check=False).returncode
        ):
            return words
    return None


@pytest.mark.skipif(_compose_command() is None, reason="no docker client with compose")
@pytest.mark.parametrize("profile", [[], ["--profile", "simulated"]])
def test_compose_finds_nothing_wrong(profile: list[str]) -> None:
    """`docker compose config` passes, with and without the simulator."""
    command = _compose_command() or []

    done = subprocess.run(
        [*command, "-f", str(_COMPOSE), *profile, "config", "-q"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_every_service_runs_without_root_and_is_probed() -> None:
    """A numeric user other than 0, and a healthcheck."""
    services: dict[str, Any] = yaml.safe_load(_COMPOSE.read_text())["services"]

    assert set(services) == {"rabbitmq", "publisher", "consumers", "receiver", "simulator"}
    for name, service in services.items():
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"]), name
        assert service["healthcheck"]["test"], name
    assert services["simulator"]["profiles"] == ["simulated"]


def test_the_image_does_not_run_as_root() -> None:
    """The last stage sets a numeric user after the last thing that needs root."""
    text = (_ROOT / "Containerfile").read_text()
    last = text[text.rindex("FROM ") :]

    assert text.count("FROM ") == 2
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", last, re.MULTILINE)
    assert "RUN" not in last


def test_the_image_is_built_from_what_is_ignored_not() -> None:
    """Everything that is copied passes the ignore file, and both names of that file say the same."""
    ignore = (_ROOT / ".containerignore").read_text()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (_ROOT / "Containerfile").read_text(), re.MULTILINE)

    assert ignore == (_ROOT / ".dockerignore").read_text()
    for name in " ".join(copied).split():
        assert f"!{name}" in ignore.splitlines()
        assert (_ROOT / name).exists()


def test_the_compose_subscriptions_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file beside the compose file is a valid one."""
    monkeypatch.setenv("WEBHOOK_SECRET", "whsec_a2FtYWppLWV2ZW50cy1jb21wb3NlLWV4YW1wbGU=")

    assert [one.name for one in load_config(_ROOT / "compose/subscriptions.yaml").subscriptions] == ["example"]


def _values(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((_CHART / "values.yaml").read_text())
    values["amqp"]["existingSecret"] = "amqp"
    values["publisher"]["cluster"] = "eu-1"
    for path, value in changes.items():
        part, _, key = path.partition("__")
        values[part][key] = value
    return values


def test_values_pass_their_schema() -> None:
    """Defaults with the two required values are valid."""
    schema = json.loads((_CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)

    jsonschema.validate(_values(), schema, cls=jsonschema.Draft7Validator)


@pytest.mark.parametrize(
    "changes",
    [
        {"publisher__cluster": "EU.1"},
        {"publisher__cluster": ""},
        {"amqp__existingSecret": ""},
        {"publisher__replica": 2},
        {"consumers__replicas": "two"},
        {"log__level": "loud"},
    ],
)
def test_wrong_values_are_refused(changes: dict[str, Any]) -> None:
    """A bad cluster name, a missing Secret, an unknown key."""
    schema = json.loads((_CHART / "values.schema.json").read_text())

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(_values(**changes), schema, cls=jsonschema.Draft7Validator)


def test_the_charts_rights_only_read() -> None:
    """No verb writes; Secrets stand behind the opt-in."""
    text = (_CHART / "templates/rbac.yaml").read_text()
    verbs = {verb.strip() for found in re.findall(r"verbs: \[(.*?)\]", text) for verb in found.split(",")}

    assert verbs == {"get", "list", "watch"}
    opted_in = re.search(r"\{\{- if \.Values\.publisher\.watchSecrets \}\}(.*?)\{\{- end \}\}", text, re.DOTALL)
    assert opted_in is not None
    assert text.count("secrets") == opted_in[1].count("secrets") == 1


def test_what_the_chart_sets_are_settings() -> None:
    """Keys and variables that templates write exist."""
    text = "".join(path.read_text() for path in (_CHART / "templates").iterdir())
    fields = {*PublisherSettings.model_fields, *ConsumerSettings.model_fields, "config"}

    assert {name.lower() for name in re.findall(r"KAMAJI_EVENTS_([A-Z_]+)", text)} <= fields
    fixed = re.search(r"\$fixed := dict (.*?) \}\}", text)
    assert fixed is not None
    assert set(re.findall(r'"([a-z_]+)" \.', fixed[1])) <= set(PublisherSettings.model_fields)


@pytest.mark.skipif(shutil.which("helm") is None, reason="no helm")
def test_helm_renders_the_chart(tmp_path: Path) -> None:
    """With everything switched on every document is an object of Kubernetes."""
    wanted = "amqp.existingSecret=a,publisher.cluster=eu-1,serviceMonitor.enabled=true,publisher.watchSecrets=true"
    homes = {f"HELM_{name}_HOME": str(tmp_path) for name in ("CONFIG", "CACHE", "DATA")}

    done = subprocess.run(
        ["helm", "template", "e", str(_CHART), "--kube-version", "1.36.0", "--set", wanted],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **homes},
    )

    assert done.returncode == 0, done.stderr
    kinds = [document["kind"] for document in yaml.safe_load_all(done.stdout)]
    assert kinds.count("Deployment") == kinds.count("ServiceMonitor") == 2
