"""Polling, what users do today: a list each 10 s, beside one watch."""

import asyncio
import time

import aiohttp

from bench.fleet import simulated
from bench.ground import Ground
from bench.measure import Case, Sample, Target
from bench.upgrades import upgrades
from publisher.observation import Resource, SyncEnded
from publisher.snapshot import TCP_DECODER
from publisher.snapshot.tcp import TcpSnapshot
from publisher.watch.api import Api
from publisher.watch.credentials import find_credentials
from publisher.watch.reflector import Reflector

__all__ = ["cases"]

_POLLING = "polling"
_PATH = "/apis/kamaji.clastix.io/v1alpha1/tenantcontrolplanes"
_CHUNK = 500
_LISTS = 360
_WATCHES = 3600 / (0.9 * 300)
_COMPARES = 1 / 6
_BOOKMARKS = 60
_BOOKMARK = 180
"""Bytes of a bookmark's line, about."""


def cases(ground: Ground) -> list[Case]:
    """Bytes and requests of an hour in which every control plane is upgraded once."""
    count = ground.size(1000, 30)
    lines = sum(line.type == "MODIFIED" for line in upgrades())

    async def ours() -> Sample:
        began = time.perf_counter()
        async with (
            simulated(ground, count) as (api, kubeconfig),
            Api(find_credentials(kubeconfig, None)) as client,
            Reflector(client, Resource.TENANTCONTROLPLANES, TCP_DECODER) as reflector,
        ):
            await _read(reflector, api_lines=0)
            listed = reflector.stats.bytes
            await api.ask("go", speed=None)
            await _read(reflector, api_lines=count * lines)
            changed = reflector.stats.bytes - listed
        sent = listed * _COMPARES + changed + _BOOKMARKS * _BOOKMARK
        extra = {"mb_an_hour": sent / 1e6, "requests_an_hour": _WATCHES + _COMPARES}
        return Sample(count, time.perf_counter() - began, 0.0, extra)

    async def polling() -> Sample:
        began = time.perf_counter()
        async with simulated(ground, count) as (api, _), aiohttp.ClientSession() as session:
            size, pages = await _listed(session, await api.ask("url"))
        extra = {"mb_an_hour": size * _LISTS / 1e6, "requests_an_hour": float(pages * _LISTS)}
        return Sample(count, time.perf_counter() - began, 0.0, extra)

    figures = [
        Target("mb_an_hour"),
        Target("mb_an_hour", "", 0, _POLLING),
        Target("requests_an_hour"),
        Target("requests_an_hour", "", 0, _POLLING),
    ]
    what = (
        f"an hour in which each of {count} control planes is upgraded, watched, against `kubectl get` each 10 s; one "
        "list and one storm are measured, the hour is reckoned from them"
    )
    return [Case("polling", what, ours, {_POLLING: polling}, figures, rounds=1)]


async def _read(reflector: Reflector[TcpSnapshot], api_lines: int) -> None:
    """Read to the end of the list, or so many changes."""
    left = api_lines
    async with asyncio.timeout(120):
        async for observation in reflector:
            left -= 1
            if isinstance(observation, SyncEnded) or left == 0:
                return


async def _listed(session: aiohttp.ClientSession, url: str) -> tuple[int, int]:
    """Bytes and pages of one list as kubectl asks for it."""
    size, pages, token = 0, 0, ""
    while True:
        async with session.get(f"{url}{_PATH}", params={"limit": str(_CHUNK), "continue": token}) as answer:
            body = await answer.read()
            size, pages = size + len(body), pages + 1
            token = (await answer.json())["metadata"].get("continue", "")
        if not token:
            return size, pages
