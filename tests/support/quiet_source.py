"""A ``Source`` in virtual time: no socket, so that hours pass in an instant."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from publisher.watch.ask import Ask
from tests.support.tiny_cluster import bookmark, item

if TYPE_CHECKING:
    from kamaji_events.errors import ClusterError

__all__ = ["QuietSource"]


class QuietSource:
    """A server where nothing happens but bookmarks; each attribute is a way to misbehave.

    Args:
        bookmark_every: seconds between two bookmarks; None sends none.
    """

    server = "https://virtual"

    def __init__(self, *, bookmark_every: float | None = 60.0) -> None:
        self.bookmark_every = bookmark_every
        self.version = 100
        self.objects = {"a": 1}
        self.asked: list[tuple[float, Ask]] = []
        """When what was asked."""
        self.dead = False
        """True: nothing comes any more over watches, not even an end (half-open)."""
        self.deaf = False
        """True: watches end at once."""
        self.failure: ClusterError | None = None
        """Raised to every request."""
        self.watch_failure: ClusterError | None = None
        """Raised to every watch."""

    def times(self, verb: str, **params: str) -> list[float]:
        """When a verb was asked with these parameters."""
        return [at for at, ask in self.asked if ask.verb == verb and params.items() <= ask.params.items()]

    def there(self, ask: Ask) -> list[dict[str, Any]]:  # noqa: ARG002 - for whoever knows several kinds
        """The objects that a list or a streaming list has."""
        return [item(name, version) for name, version in self.objects.items()]

    def _ask(self, ask: Ask) -> None:
        self.asked.append((asyncio.get_running_loop().time(), ask))
        if self.failure is not None:
            raise self.failure
        if ask.verb == "watch" and self.watch_failure is not None:
            raise self.watch_failure

    async def get(self, ask: Ask) -> bytes:
        """See ``Source``."""
        self._ask(ask)
        if ask.verb == "list":
            page = {"metadata": {"resourceVersion": str(self.version)}, "items": self.there(ask)}
            return json.dumps(page).encode()
        if ask.path.endswith("kamaji.clastix.io"):
            return b'{"versions":[{"version":"v1alpha1"}]}'
        return b'{"resources":[{"name":"tenantcontrolplanes"},{"name":"datastores"}]}'

    @asynccontextmanager
    async def stream(self, ask: Ask) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``Source``."""
        self._ask(ask)
        yield self._chunks(ask)

    async def _chunks(self, ask: Ask) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + float(ask.params["timeoutSeconds"])
        if "sendInitialEvents" in ask.params:
            for found in self.there(ask):
                if loop.time() >= ends:
                    return
                yield json.dumps({"type": "ADDED", "object": found}).encode() + b"\n"
            yield bookmark(self.version, end=True)
        while not self.deaf and (self.dead or loop.time() < ends):
            pause = self.bookmark_every or 3600.0
            await asyncio.sleep(pause if self.dead else min(pause, ends - loop.time()))
            if not self.dead and self.bookmark_every is not None:
                yield bookmark(self.version)
