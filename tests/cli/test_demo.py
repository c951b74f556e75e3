"""The demo, as a user runs it."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, environment, kamaji_events

pytestmark = [pytest.mark.broker, pytest.mark.e2e]


def test_it_ends_by_itself_with_everything_well(rabbit: str, tmp_path: Path) -> None:
    """Events are shown, figures are told, every check passed, nothing is left in the temporary folder."""
    done = kamaji_events("demo", "--objects", "4", env={"AMQP_URL": rabbit, "TMPDIR": str(tmp_path)}, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "all well" in done.stdout
    assert "upgrade.completed" in done.stdout
    assert re.search(r"latency +p50 \d+ ms, p99 \d+ ms", done.stdout)
    published = re.search(r"events published +(\d+)", done.stdout)
    delivered = re.search(r"events delivered +(\d+)", done.stdout)
    assert published is not None
    assert delivered is not None
    assert int(published[1]) == int(delivered[1]) > 20
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_tidies_up(rabbit: str, tmp_path: Path) -> None:
    """130, no traceback, nothing left."""
    with subprocess.Popen(
        [sys.executable, "-m", "kamaji_events", "demo"],
        cwd=ROOT,
        env=environment({"AMQP_URL": rabbit, "TMPDIR": str(tmp_path)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "are up" in line:
                break
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=50)

    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_broker_that_is_not_there_is_told() -> None:
    """AMQP_URL is taken at its word."""
    done = kamaji_events("demo", env={"AMQP_URL": "amqp://127.0.0.1:1/"})

    assert done.returncode == 1
    assert "is RabbitMQ running there?" in done.stderr


def test_nothing_to_start_a_broker_with_says_what_to_install(tmp_path: Path) -> None:
    """No AMQP_URL, no rabbitmq-server, no Docker."""
    code = (
        "import sys\n"
        "from kamaji_events.broker.node import RabbitNode\n"
        "RabbitNode.available = staticmethod(lambda: False)\n"
        "sys.argv = ['kamaji-events', 'demo']\n"
        "from kamaji_events.cli import main\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment({"PATH": str(tmp_path)}),
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )

    assert done.returncode == 2
    assert "apt-get install rabbitmq-server" in done.stderr
    assert done.stderr.count("\n") == 1
