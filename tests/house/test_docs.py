"""Pages say what is: generated parts are fresh, commands exist, links lead somewhere, one version everywhere."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from kamaji_events import __version__
from kamaji_events.catalogue import CATALOGUE
from kamaji_events.cli.root import app
from scripts import generate_docs

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = [_ROOT / "README.md", _ROOT / "ARCHITECTURE.md", *sorted((_ROOT / "docs").glob("*.md"))]
_CALL = re.compile(r"(?<![/\w])kamaji-events ([a-z][a-z-]*(?: [a-z]+)?)")


def test_generated_docs_are_those_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever changes the catalogue or a setting also writes the pages anew."""
    assert generate_docs.main("--check") == 0, capsys.readouterr().out


def test_every_event_is_in_the_reference() -> None:
    """The reference has each event of the catalogue."""
    page = (_ROOT / "docs/events.md").read_text()

    assert [event.name for event in CATALOGUE if f"| `{event.name}` |" not in page] == []


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links of a page are files of the repository."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []


def _calls(text: str) -> set[str]:
    """What pages call after the command's name, e.g. ``publisher run``."""
    blocks = re.findall(r"```(?:sh)?\n(.*?)```", text, re.DOTALL) + re.findall(r"`(kamaji-events [^`]+)`", text)
    return {call for block in blocks for line in block.splitlines() for call in _CALL.findall(line.split("#")[0])}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_commands_that_pages_name_exist(page: Path) -> None:
    """A reader can type what a page says."""
    root: Any = get_command(app)
    for call in _calls(page.read_text()):
        name, _, second = call.partition(" ")
        command = root.get_command(None, name)
        assert command is not None, call
        assert not second or not hasattr(command, "commands") or second in command.commands, call


def test_options_of_the_readme_exist() -> None:
    """Every option in the README's commands is one of its command."""
    root: Any = get_command(app)
    text = (_ROOT / "README.md").read_text()
    lines = [
        line.split("#")[0].strip()
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    calls = [shlex.split(line)[1:] for line in lines if line.startswith("kamaji-events ")]

    assert calls
    for name, *words in calls:
        command = root.get_command(None, name)
        if hasattr(command, "commands"):
            command = command.commands[words[0]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert [word for word in words if word.startswith("-") and word not in known] == []


def test_the_readmes_two_commands_are_there() -> None:
    """One to see it, one to check it; CI runs the second."""
    text = (_ROOT / "README.md").read_text()
    for script in ("demo", "test"):
        assert f"./scripts/{script}" in text
        assert (_ROOT / "scripts" / script).stat().st_mode & 0o111
    assert "scripts/test" in (_ROOT / ".ci/run").read_text()


def test_one_version_everywhere() -> None:
    """Package, project, chart and the top of the changelog agree."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((_ROOT / "charts/kamaji-events/Chart.yaml").read_text())
    top = re.search(r"^## \[([0-9.]+)\]", (_ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert project["version"] == __version__
    assert chart["version"] == chart["appVersion"] == __version__
    assert top is not None
    assert top[1] == __version__


def test_the_readmes_event_is_one_of_the_contract() -> None:
    """The example has a type of the catalogue and its fixed severity."""
    block = re.search(r"```json\n(.*?)```", (_ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    event = json.loads(block[1])
    row = {row.type: row for row in CATALOGUE}[event["type"]]

    assert event["data"]["severity"] == row.severity
    assert event["id"] == f"{event['operationid']}.{row.second}"
