"""The import rules bite: a planted violation of each is found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("kamaji_events", "publisher", "consumers")


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The three rooms and their rules, to be spoilt."""
    for room in _ROOMS:
        shutil.copytree(_ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_rules_hold(copy: Path) -> None:
    """As it stands no rule is broken, and the rules see every room."""
    done = _lint(copy)

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("publisher/planted.py", "import consumers.decision"),
        ("consumers/planted.py", "import publisher.observation"),
        ("kamaji_events/planted.py", "import publisher.observation"),
        ("publisher/lifecycle/planted.py", "import time"),
        ("publisher/lifecycle/planted.py", "import logging"),
        ("publisher/snapshot/planted.py", "import asyncio"),
        ("publisher/snapshot/planted.py", "import aiohttp"),
    ],
)
def test_a_planted_violation_is_found(copy: Path, file: str, line: str) -> None:
    """Rooms that reach into each other, or purity that is lost, fail the checks."""
    (copy / file).write_text(f"{line}\n")

    done = _lint(copy)

    assert done.returncode != 0, done.stdout
    assert "planted" in done.stdout
