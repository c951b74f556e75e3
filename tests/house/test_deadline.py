"""A test that hangs where pytest-timeout has no timer ends all the same."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deadline import seconds

CONFTEST = """
import tests.support.deadline as deadline
from tests.support.deadline import *
deadline._AT_LEAST = 0.5
"""
HANGS = """
import threading
import pytest

@pytest.fixture
def stuck():
    yield
    threading.Event().wait()

def test_it(stuck):
    pass
"""


def test_a_hanging_teardown_ends_the_process_and_says_where(tmp_path: Path) -> None:
    """The process ends with every thread's stack, instead of holding the check for ever."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_hangs.py").write_text(HANGS)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null"]
    words += ["-o", "timeout=0.2", "-o", "timeout_func_only=true"]
    path = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""}
    ended = subprocess.run([*words, str(tmp_path)], capture_output=True, text=True, check=False, env=path, timeout=50)
    assert ended.returncode == 1
    assert "Timeout (" in ended.stderr
    assert "in stuck" in ended.stderr


def test_the_deadline_follows_the_tests_own_bound(request: pytest.FixtureRequest) -> None:
    """Twice the bound and a minute, whether it comes from the configuration or a mark."""
    assert seconds(request.node) == 180.0
    request.node.add_marker(pytest.mark.timeout(300))
    assert seconds(request.node) == 660.0
