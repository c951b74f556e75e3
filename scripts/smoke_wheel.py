"""Try an installed wheel: the command is there, all rooms came along, and a recording gives its events.

Run by scripts/test with the Python of a fresh environment, outside the source tree:
``smoke_wheel.py PATH/TO/kamaji-events RECORDING``.
"""

import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own command


def main(command: str, recording: str) -> None:
    """Raise at the first thing that is not as it should be."""
    for name in ("kamaji_events.client", "publisher.run", "consumers.run"):
        place = Path(str(import_module(name).__file__))
        if "site-packages" not in place.parts:
            raise SystemExit(f"{name} was imported from {place}, not from the wheel")
        if not (place.parent / "py.typed").exists():
            raise SystemExit(f"{place.parent} came without its py.typed")
    if _output(command, "--version").strip() != f"kamaji-events {version('kamaji-events')}":
        raise SystemExit("--version is not the wheel's")
    events = [json.loads(line) for line in _output(command, "derive", recording).splitlines()]
    if not any(event["type"].endswith("tenantcontrolplane.upgrade.completed") for event in events):
        raise SystemExit("derive did not tell of the upgrade")
    sys.stdout.write(f"the wheel works: {len(events)} events derived\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
