"""The command's face: help that teaches, lazy loading, errors in one line."""

import asyncio
import errno
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.main import get_command

from kamaji_events import __version__, errors
from kamaji_events.cli.amqp import DEFAULT_URL, amqp_url
from kamaji_events.cli.root import app
from kamaji_events.cli.told import told
from kamaji_events.settings import Settings
from tests.support.command import ROOT, environment, kamaji_events

_HEAVY = ("pydantic", "aiohttp", "aiormq", "kubernetes", "cloudevents", "httpx", "jinja2", "rich", "asyncio", "yaml")


def _root() -> Any:
    return get_command(app)


@pytest.mark.parametrize("name", list(_root().commands_help))
def test_every_command_of_the_help_loads_and_teaches(name: str) -> None:
    """Each has a help of more than a line, and each option is explained."""
    command = _root().get_command(None, name)
    commands = getattr(command, "commands", None) or {name: command}
    for one in commands.values():
        assert one.help, name
        options = [option for option in one.params if option.param_type_name == "option" and option.name != "help"]
        assert [option.name for option in options if not option.help] == []


def test_the_root_help_lists_every_command() -> None:
    """Names, one line each, and where to start."""
    done = kamaji_events("--help")

    assert done.returncode == 0
    for name in _root().commands_help:
        assert f"  {name} " in done.stdout
    assert "Start here" in done.stdout


def test_no_words_show_the_help() -> None:
    """Who calls it bare wants to know what there is."""
    assert "Commands:" in kamaji_events().stdout + kamaji_events().stderr


def test_the_version_is_the_packages() -> None:
    """One line."""
    assert kamaji_events("--version").stdout == f"kamaji-events {__version__}\n"


def test_an_unknown_command_is_a_usage_error() -> None:
    """Exit code 2, no traceback."""
    done = kamaji_events("publsh")

    assert done.returncode == 2
    assert "No such command" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [["--help"], ["tail", "--help"]])
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    """Start is fast because nothing is imported that is not needed."""
    code = (
        "import sys\nsys.argv = ['kamaji-events', *sys.argv[1:]]\n"
        "from kamaji_events.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    loaded = set(_python(code, *command).split())

    assert "typer" in loaded
    # tail runs a coroutine: asyncio comes with it, and nothing else.
    assert loaded.intersection(_HEAVY) <= ({"asyncio"} if "tail" in command else set())


def _python(code: str, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    ).stderr


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (errors.SettingsError("key x"), 2, "kamaji-events: error: key x"),
        (errors.FilterError("no"), 2, "error: no"),
        (errors.RecordingError("cut"), 2, "error: cut"),
        (errors.BrokerRefused("who?"), 1, "check user, password, vhost"),
        (errors.BrokerUnavailable("RabbitMQ at x: gone"), 1, "is RabbitMQ running there?"),
        (errors.ClusterRefused("403"), 1, "check the kubeconfig"),
        (errors.EnvelopeError("a\nb"), 1, "error: a b"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: No space left on device: what was written"),
        (ZeroDivisionError("oops"), 1, "internal error: ZeroDivisionError: oops"),
        (ExceptionGroup("g", [ValueError("v"), errors.SettingsError("deep")]), 2, "error: deep"),
        (BaseExceptionGroup("g", [asyncio.CancelledError(), errors.BrokerError("b")]), 1, "error: b"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_one_line_and_a_code(
    error: BaseException, code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 is the user's, 1 anything else, 130 Ctrl-C; of a group the member that explains most."""
    with pytest.raises(typer.Exit) as caught, told():
        raise error

    said = capsys.readouterr().err
    assert caught.value.exit_code == code
    assert text in said
    assert said.count("\n") == (1 if text else 0)
    assert "Traceback" not in said


def test_the_stack_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """KAMAJI_EVENTS_DEBUG=1 shows where."""
    monkeypatch.setenv("KAMAJI_EVENTS_DEBUG", "1")

    with pytest.raises(typer.Exit), told():
        raise ZeroDivisionError

    assert "Traceback" in capsys.readouterr().err


def test_the_light_way_to_the_broker_is_the_settings_way(tmp_path: Any) -> None:
    """`tail` finds RabbitMQ as the services do, without pydantic's cost."""
    (tmp_path / "url").write_text("amqp://file\n")
    file = str(tmp_path / "url")
    environments: list[dict[str, str]] = [
        {},
        {"AMQP_URL": "amqp://a"},
        {"KAMAJI_EVENTS_AMQP_URL": "amqps://b"},
        {"AMQP_URL": "amqp://a", "KAMAJI_EVENTS_AMQP_URL": "amqp://b"},
        {"AMQP_URL_FILE": file},
        {"KAMAJI_EVENTS_AMQP_URL_FILE": file, "AMQP_URL": "amqp://a"},
    ]
    for env in environments:
        assert amqp_url(None, env) == Settings.load(environ=env).amqp_url.get_secret_value()
    assert amqp_url("amqp://flag", environments[1]) == "amqp://flag"
    assert amqp_url(None, {}) == DEFAULT_URL
    for env in ({"AMQP_URL": "http://x"}, {"AMQP_URL_FILE": "/nowhere"}):
        with pytest.raises(errors.SettingsError, match="AMQP_URL"):
            amqp_url(None, env)
