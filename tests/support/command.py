"""The command line as a user runs it: a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ROOT", "environment", "kamaji_events"]

ROOT = Path(__file__).resolve().parents[2]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: nothing of ours that would steer it, the source tree importable."""
    steering = ("KAMAJI_EVENTS_", "AMQP_URL", "KUBECONFIG", "KUBERNETES_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **(extra or {})}


def kamaji_events(
    *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float = 50
) -> subprocess.CompletedProcess[str]:
    """Run ``kamaji-events`` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "kamaji_events", *words],
        env=environment(env),
        cwd=cwd or ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )
