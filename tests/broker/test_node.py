"""The private node: it never outlives who started it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.rabbit import need_rabbit

pytestmark = pytest.mark.broker

STARTER = """
import asyncio, sys
from pathlib import Path
from kamaji_events.broker.node import RabbitNode

async def main():
    async with RabbitNode(Path(sys.argv[1])):
        print("up", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def alive(pid: int) -> bool:
    """Whether that process runs; one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_node_dies_with_who_started_it(tmp_path: Path) -> None:
    """SIGKILL of the starter leaves no Erlang machine behind: the pipe's other end, held by it, ends too."""
    need_rabbit()
    with subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"up\n"
        beam = int((tmp_path / "pid").read_text())
        assert alive(beam)
        starter.send_signal(signal.SIGKILL)
    waiter = subprocess.run(["tail", "--pid", str(beam), "-f", "/dev/null"], check=False, timeout=20)
    assert waiter.returncode == 0
    assert not alive(beam)
