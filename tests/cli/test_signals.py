"""Ctrl-C and SIGTERM: a command tidies up and says by its exit code what ended it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.command import ROOT, environment


@contextmanager
def _receiving() -> Iterator["subprocess.Popen[str]"]:
    """A command that runs until it is ended, and is up."""
    with subprocess.Popen(
        [sys.executable, "-m", "kamaji_events", "receive", "--port", "0"],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "receiving on" in process.stderr.readline()
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_it_tidily(number: signal.Signals, code: int) -> None:
    """130 for Ctrl-C, 0 for SIGTERM; what there is to say is said, and no traceback."""
    with _receiving() as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=30)

    assert process.returncode == code
    assert "0 events, 0 copies, 0 refused" in said
    assert "Traceback" not in said


def test_a_pipe_that_closes_is_no_error() -> None:
    """`kamaji-events ... | head`: nothing is complained about."""
    with subprocess.Popen(
        [sys.executable, "-m", "kamaji_events", "--help"],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
