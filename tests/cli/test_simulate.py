"""`simulate`, as a user runs it."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.support.command import ROOT, environment, kamaji_events

_TCPS = "/apis/kamaji.clastix.io/v1alpha1/tenantcontrolplanes"


@asynccontextmanager
async def _simulating(*words: str) -> AsyncIterator[str]:
    """The server's address while it runs."""
    command = [sys.executable, "-m", "kamaji_events", "simulate", "--port", "0", *words]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment(), cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        said = (await process.stderr.readline()).decode()
        assert "a simulated API server at" in said
        yield said.partition(" at ")[2].partition(";")[0]
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _first_added(url: str, token: str = "") -> Any:
    """The first control plane that a watch from the beginning tells."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    async with (
        aiohttp.ClientSession(read_bufsize=2**20) as session,
        session.get(f"{url}{_TCPS}?{query}", headers=headers) as response,
    ):
        assert response.status == 200
        async for line in response.content:
            change = json.loads(line)
            if change["type"] == "ADDED":
                return change["object"]
    raise AssertionError("the watch ended")


async def test_it_invents_a_fleet(tmp_path: Path) -> None:
    """Control planes come by themselves; the kubeconfig leads there."""
    file = tmp_path / "kubeconfig"
    async with _simulating(
        "--speed", "20", "--objects", "3", "--existing", "0", "--token", "t0", "--kubeconfig", str(file)
    ) as url:
        assert (await _first_added(url, "t0"))["kind"] == "TenantControlPlane"
        content = yaml.safe_load(file.read_text())
    assert content["clusters"][0]["cluster"]["server"] == url
    assert content["users"][0]["user"]["token"] == "t0"


async def test_it_replays_recordings_to_any_number() -> None:
    """Recorded lives under names of their own."""
    recording = ROOT / "tests/data/recordings/lifecycle.jsonl.gz"
    async with _simulating("--recording", str(recording), "--objects", "3", "--speed", "50") as url:
        assert (await _first_added(url))["metadata"]["name"].startswith("acme")


def test_what_cannot_be_is_told() -> None:
    """A recording that is none, a port that is taken."""
    missing = kamaji_events("simulate", "--recording", "/nowhere/r.jsonl", "--port", "0")
    assert (missing.returncode, "/nowhere/r.jsonl" in missing.stderr) == (2, True)
    taken = kamaji_events("simulate", "--host", "203.0.113.1", "--port", "1")
    assert (taken.returncode, "cannot listen" in taken.stderr) == (2, True)
