"""Each service of the compose file, by its command line as it stands there, all of them together.

There is no container engine in the checks: host names, ports and mounted files are put in their places by hand,
commands and the rest of the environment are the file's own.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from consumers.topology import House
from kamaji_events.broker import declare
from kamaji_events.broker.connection import connect
from kamaji_events.broker.topology import Layout
from tests.support.command import ROOT, environment

pytestmark = [pytest.mark.broker, pytest.mark.e2e]

_FOLDER = ROOT / "compose"
_DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")


def _services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((_FOLDER / "compose.yaml").read_text())["services"]
    return services


@asynccontextmanager
async def _running(name: str, **changed: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A service's command with the file's environment, but for what is changed; ended by SIGTERM, with 0."""
    service = _services()[name]
    given = {key: _DEFAULT.sub(r"\1", value) for key, value in service["environment"].items()}
    assert set(changed) - {"KAMAJI_EVENTS_PREFIX", "KAMAJI_EVENTS_HEALTH_PORT"} <= set(given)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kamaji_events",
        *service["command"],
        env=environment({**given, **changed}),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
        process.terminate()
        _, said = await process.communicate()
        assert process.returncode == 0, said.decode()
        assert b"Traceback" not in said
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def _line(stream: asyncio.StreamReader | None, words: str) -> str:
    """The first line that has these words in it."""
    assert stream is not None
    while line := (await stream.readline()).decode():
        if words in line:
            return line
    raise AssertionError(f"ended without saying {words!r}")


def _put(source: str, target: Path, old: str, new: str) -> str:
    """A file of the compose folder with one thing in another place."""
    text = (_FOLDER / source).read_text()
    assert old in text
    target.write_text(text.replace(old, new))
    return str(target)


def _url(line: str) -> str:
    found = re.search(r"http://[\d.]+:\d+", line)
    assert found is not None
    return found[0]


@pytest_asyncio.fixture
async def own(rabbit: str, layout: Layout) -> AsyncIterator[dict[str, str]]:
    """An installation of the test's own."""
    yield {"AMQP_URL": rabbit, "KAMAJI_EVENTS_PREFIX": layout.prefix, "KAMAJI_EVENTS_HEALTH_PORT": "0"}
    async with connect(rabbit, name="test") as broker:
        for part in (
            layout.subscription_topology("example"),
            layout.journal_topology("demo"),
            House(layout).common_topology(),
            layout.exchange_topology(),
        ):
            await declare.delete(broker, part)


async def test_the_services_work_together_as_the_file_says(own: dict[str, str], tmp_path: Path) -> None:
    """Simulator, publisher, consumers and receiver: a control plane's life arrives, signed."""
    here = {"KAMAJI_EVENTS_RECEIVER_HOST": "127.0.0.1", "KAMAJI_EVENTS_RECEIVER_PORT": "0"}
    there = {"KAMAJI_EVENTS_SIMULATOR_HOST": "127.0.0.1", "KAMAJI_EVENTS_SIMULATOR_PORT": "0"}
    async with _running("receiver", **here) as receiver, _running("simulator", **there) as simulator:
        hook = _url(await _line(receiver.stderr, "receiving on"))
        server = _url(await _line(simulator.stderr, "a simulated API server"))
        kubeconfig = _put("simulated.kubeconfig", tmp_path / "kubeconfig", "http://simulator:8001", server)
        old, new = "url: http://receiver:8081/", f"url: {hook}/\n        egress: {{allow: [loopback]}}"
        subscriptions = _put("subscriptions.yaml", tmp_path / "subscriptions.yaml", old, new)
        async with (
            _running("consumers", KAMAJI_EVENTS_SUBSCRIPTIONS=subscriptions, **own),
            _running("publisher", KAMAJI_EVENTS_KUBECONFIG=kubeconfig, **own),
        ):
            await _line(receiver.stdout, "publisher state.leading")
            assert "tenants" in await _line(receiver.stdout, "create.started")
