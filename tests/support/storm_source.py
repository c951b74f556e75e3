"""A ``Source`` in virtual time over a small living world, which fails in every way at random, by a seed."""

import asyncio
import json
import random
from bisect import bisect_right
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kamaji_events.errors import ClusterRefused, ClusterUnavailable, KindMissing, ResourceExpired
from publisher.watch.ask import Ask
from tests.support.tiny_cluster import bookmark, event, item, status

__all__ = ["StormSource"]

_EXPIRED = b'{"type":"ERROR","object":' + json.dumps(status(410, "Expired", "too old")).encode() + b"}\n"
_FAULTS = ("cut", "cut inside", "silence", "garbage", "no object", "gone", "end", "none", "none", "none", "none")


class StormSource:
    """Objects come, change and go; while ``storming`` every answer may be a fault.

    Args:
        rng: decides everything.
        keep: versions of history that are kept; an older watch is answered with 410.
    """

    server = "https://storm"

    def __init__(self, rng: random.Random, *, keep: int = 1_000_000) -> None:
        self._rng = rng
        self._keep = keep
        self.storming = True
        self.version = 100
        self.objects: dict[str, int] = {}
        self.log: list[tuple[int, bytes]] = []
        """Every change and its version."""

    async def live(self, changes: int) -> None:
        """Change something now and then."""
        for _ in range(changes):
            await asyncio.sleep(self._rng.expovariate(0.2))
            name = f"o{self._rng.randrange(8)}"
            self.version += self._rng.randint(1, 3)
            if name in self.objects and self._rng.random() < 0.4:
                del self.objects[name]
                kind = "DELETED"
            else:
                kind = "MODIFIED" if name in self.objects else "ADDED"
                self.objects[name] = self.version
            self.log.append((self.version, event(kind, name, self.version)))

    def _fail(self) -> None:
        if not self.storming or self._rng.random() < 0.6:
            return
        raise self._rng.choice(
            [
                ClusterUnavailable("500"),
                ClusterUnavailable("429", retry_after=5.0),
                ClusterRefused("403"),
                ResourceExpired("410"),
                KindMissing("404"),
            ]
        )

    async def get(self, ask: Ask) -> bytes:
        """See ``Source``."""
        self._fail()
        await asyncio.sleep(0.01)
        if ask.path.endswith("kamaji.clastix.io"):
            return b'{"versions":[{"version":"v1alpha1"}]}'
        if ask.verb == "get":
            return b'{"resources":[{"name":"tenantcontrolplanes"}]}'
        items = [item(name, version) for name, version in self.objects.items()]
        return json.dumps({"metadata": {"resourceVersion": str(self.version)}, "items": items}).encode()

    @asynccontextmanager
    async def stream(self, ask: Ask) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``Source``."""
        self._fail()
        yield self._chunks(ask)

    async def _chunks(self, ask: Ask) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + float(ask.params["timeoutSeconds"])
        since = int(ask.params.get("resourceVersion") or self.version)
        if since < self.version - self._keep:
            yield _EXPIRED
            return
        if "sendInitialEvents" in ask.params:
            for name, version in dict(self.objects).items():
                yield event("ADDED", name, version)
            yield bookmark(since, end=True)
        while loop.time() < ends:
            for version, line in self.log[bisect_right(self.log, since, key=lambda entry: entry[0]) :]:
                yield line
                since = version
            async for chunk in self._fault():
                if not chunk:
                    return
                yield chunk
            await asyncio.sleep(1.0)
            if self._rng.random() < 0.02:
                yield bookmark(since)

    async def _fault(self) -> AsyncIterator[bytes]:
        """What goes wrong between two lines; an empty chunk is the end."""
        if not self.storming or self._rng.random() < 0.9:
            return
        match self._rng.choice(_FAULTS):
            case "cut":
                raise ClusterUnavailable("the connection was lost")
            case "cut inside":
                yield b'{"type":"MODIF'
                yield b""
            case "silence":
                await asyncio.sleep(10_000)
            case "garbage":
                yield b"<html>\n"
            case "no object":
                yield b'{"type":"ADDED","object":{}}\n'
            case "gone":
                yield _EXPIRED
            case "end":
                yield b""
