"""A publisher over a simulated fleet that stands ready."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.child import Child
from bench.ground import Ground
from bench.tap import Tap, tapped

__all__ = ["Fleet", "simulated", "watched"]


@dataclass(frozen=True)
class Fleet:
    """Processes and names of one round."""

    cluster: str
    api: Child
    kubeconfig: Path
    publisher: Child
    tap: Tap
    """What the publisher says of itself."""


@asynccontextmanager
async def simulated(ground: Ground, count: int, *, spread: float = 0.0) -> AsyncIterator[tuple[Child, Path]]:
    """An API server with so many control planes, and a kubeconfig for it."""
    kubeconfig = ground.folder / f"{ground.fresh('kubeconfig')}.yaml"
    log = ground.folder / f"{ground.fresh('api')}.log"
    async with Child("bench.children.api", str(count), str(spread), log=log) as api:
        await api.ask("kubeconfig", path=str(kubeconfig))
        yield api, kubeconfig


@asynccontextmanager
async def watched(
    ground: Ground, count: int, *, spread: float = 0.0, url: str | None = None, **settings: str
) -> AsyncIterator[Fleet]:
    """A fleet and its publisher, which has listed everything."""
    cluster = ground.fresh("c")
    async with (
        simulated(ground, count, spread=spread) as (api, kubeconfig),
        tapped(ground, [f"publisher.*.*.{cluster}.#"]) as tap,
        ground.publisher(cluster, kubeconfig, url=url, **settings) as publisher,
    ):
        await tap.until(lambda one: one.name == "sync.completed", count=2)
        yield Fleet(cluster, api, kubeconfig, publisher, tap)
