"""The first list, read and judged as the publisher does, or read and only parsed. Says what it took, in one line.

Arguments: ``ours`` or ``orjson``, and a kubeconfig.
"""

import asyncio
import sys
import time
from pathlib import Path

import aiohttp
import orjson

from bench.measure import Stopwatch
from kamaji_events.cli.running import calm_collector
from kamaji_events.simulator.kubeconfig import write_kubeconfig
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.policy import Policy
from publisher.observation import Resource, SyncEnded
from publisher.snapshot import TCP_DECODER
from publisher.watch.api import Api
from publisher.watch.credentials import find_credentials
from publisher.watch.reflector import Reflector

__all__: list[str] = []

_PATH = "/apis/kamaji.clastix.io/v1alpha1/tenantcontrolplanes"
_ASK = "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


async def _ours(url: str) -> int:
    kubeconfig = write_kubeconfig(Path(sys.argv[3]), url, None)
    fleet, count = Fleet(Policy()), 0
    async with (
        Api(find_credentials(kubeconfig, None)) as api,
        Reflector(api, Resource.TENANTCONTROLPLANES, TCP_DECODER) as reflector,
    ):
        async for observation in reflector:
            fleet.observe(observation, time.time())
            count += 1
            if isinstance(observation, SyncEnded):
                return count - 2
    return 0


async def _parsed(url: str) -> int:
    rest, count = b"", 0
    async with aiohttp.ClientSession(read_bufsize=256 * 1024) as session, session.get(url + _PATH + _ASK) as answer:
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if orjson.loads(line)["type"] == "BOOKMARK":
                    answer.close()
                    return count
                count += 1
    return count


def _peak() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) / 1024


def _main() -> None:
    calm_collector()  # as the publisher does; the other way has the same

    async def timed() -> tuple[int, Stopwatch]:
        with Stopwatch() as watch:
            count = await (_ours if sys.argv[1] == "ours" else _parsed)(sys.argv[2])
        return count, watch

    count, watch = asyncio.run(timed())
    told = {"count": count, "seconds": watch.seconds, "cpu": watch.cpu, "peak_mb": _peak()}
    sys.stdout.buffer.write(orjson.dumps(told) + b"\n")


if __name__ == "__main__":
    _main()
