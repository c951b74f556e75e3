"""What a probe and a Prometheus server ask: ``/livez``, ``/readyz`` and ``/metrics``, read-only, without secrets."""

import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from kamaji_events.errors import SettingsError

__all__ = ["Check", "HealthServer"]

Check = Callable[[], str | None]
"""None when all is well, else the problem in one line; it must answer at once."""

_log = logging.getLogger(__name__)


def _nothing_wrong() -> str | None:
    return None


class HealthServer:
    """Serves the three paths while it is open.

    Args:
        host: address to listen on.
        port: port to listen on; 0 takes a free one, ``port`` tells which.
        live: asked by ``/livez``: a problem means that only a restart can help.
        ready: asked by ``/readyz``: a problem means that work is not being done.
        registry: what ``/metrics`` shows; without one the path is 404.

    Raises:
        SettingsError: on entering, when the address cannot be listened on.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        live: Check = _nothing_wrong,
        ready: Check = _nothing_wrong,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self._host = host
        self._wanted = port
        self.port = port
        """The port in use, once open."""
        app = web.Application()
        app.router.add_get("/livez", _answer_for(live))
        app.router.add_get("/readyz", _answer_for(ready))
        if registry is not None:
            app.router.add_get("/metrics", _metrics_of(registry))
        self._runner = web.AppRunner(app, access_log=None)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._wanted).start()
        except OSError as error:
            await self._runner.cleanup()
            raise SettingsError(
                f"health: cannot listen on {self._host}:{self._wanted}: {error.strerror or error}; "
                "set KAMAJI_EVENTS_HEALTH_PORT to a free port (0 takes any)"
            ) from error
        self.port = int(self._runner.addresses[0][1])
        _log.info("health and metrics on port %d", self.port, extra={"host": self._host, "port": self.port})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()


def _answer_for(check: Check) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.StreamResponse:
        problem = check()
        if problem is None:
            return web.json_response({"status": "ok"})
        return web.json_response({"status": "failing", "problem": problem}, status=503)

    return answer


def _metrics_of(registry: CollectorRegistry) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def metrics(request: web.Request) -> web.StreamResponse:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(registry), headers={"Content-Type": content_type})

    return metrics
