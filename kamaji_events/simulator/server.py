"""The simulator: an HTTP server that speaks the part of the Kubernetes API that a list and watch client uses."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson
from aiohttp import web

from kamaji_events.simulator.asked import Asked
from kamaji_events.simulator.control import Control
from kamaji_events.simulator.discovery import discover
from kamaji_events.simulator.faults import Faults
from kamaji_events.simulator.kubeconfig import write_kubeconfig
from kamaji_events.simulator.listing import get_one, list_page
from kamaji_events.simulator.options import Options
from kamaji_events.simulator.refusal import Refusal
from kamaji_events.simulator.selection import Selection
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.views import View
from kamaji_events.simulator.watching import Watch
from kamaji_events.simulator.wire import OpenWatch, Wire
from kamaji_events.simulator.writing import write

__all__ = ["Simulator"]

_JSON = "application/json"
_LARGEST = 4 * 1024 * 1024
_USUAL_LIFETIME = (1800.0, 3600.0)
"""Seconds that a watch lives when it does not say: between these."""


class Simulator:
    """A simulated API server, ``async with Simulator() as sim``.

    Args:
        store: what it serves; an empty one by default.
        host: where to listen.
        port: 0 for any free one.
        token: bearer token that it asks for; None lets everybody in.
        bookmark_seconds: seconds between two bookmarks of a watch.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        bookmark_seconds: float = 60.0,
    ) -> None:
        self.store = store or Store()
        self._host, self._port = host, port
        self._token = token
        self._bookmark_seconds = bookmark_seconds
        self._watches: set[OpenWatch] = set()
        self.faults = Faults(self.store, self._watches, token)
        """What goes wrong."""
        self.asked: Counter[tuple[str, str]] = Counter()
        """How often each (verb, plural) was asked for; discovery is ("get", "")."""
        self._runner: web.AppRunner | None = None
        self._jitter = random.Random(0)
        self._opened = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.come_up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.go_down()

    async def come_up(self) -> None:
        """Listen, again on the former port after ``go_down``."""
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/_simulator/{word:.*}", Control(self).answer)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def go_down(self) -> None:
        """Stop listening and cut every connection, as a killed server does."""
        runner, self._runner = self._runner, None
        if runner is not None:
            for watch in list(self._watches):
                watch.abort()
            await runner.cleanup()

    @property
    def url(self) -> str:
        """Where it is, once it listens."""
        host = "127.0.0.1" if self._host in {"0.0.0.0", "::"} else self._host  # noqa: S104 - a comparison
        return f"http://{host}:{self._port}"

    @property
    def open_watches(self) -> Counter[str]:
        """How many watches of each plural are open."""
        return Counter(watch.resource for watch in self._watches)

    async def watched(self, *resources: str) -> None:
        """Wait until each of these kinds is being watched."""
        while any(not self.open_watches[resource] for resource in resources):
            self._opened.clear()
            await self._opened.wait()

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig of this server, with its token; gives the path back."""
        return write_kubeconfig(path, self.url, self._token)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if self.faults.latency:
            await asyncio.sleep(self.faults.latency)
        await self.faults.thawed.wait()
        watching = request.query.get("watch", "") in {"1", "true", "True"}
        asked = Asked.read(request.method, request.path, watch=watching, missing=self.faults.missing)
        self.asked[asked.verb if asked else "get", asked.kind.plural if asked else ""] += 1
        try:
            return await self._judged(request, asked)
        except Refusal as refusal:
            return await self._send(request, refusal.body(), refusal.code, refusal.headers)

    async def _judged(self, request: web.Request, asked: Asked | None) -> web.StreamResponse:
        struck = self.faults.check(asked, request.headers.get("Authorization"))
        if struck:
            refusal, empty, as_line = struck
            if as_line:
                return await self._send(request, refusal.line())
            if empty:
                return await self._send(request, b"", refusal.code, refusal.headers)
            raise refusal
        if asked is None:
            return await self._discover(request)
        if asked.verb == "watch":
            return await self._watch(request, asked)
        if asked.verb in {"get", "list"}:
            return await self._send(request, self._read(request, asked))
        code, body = await write(self.store, asked, request)
        return await self._send(request, body, code)

    def _read(self, request: web.Request, asked: Asked) -> bytes:
        view = View(asked.kind, request.headers.get("Accept", ""))
        if asked.name:
            return get_one(self.store, asked.kind, asked.namespace, asked.name, view)
        options, selection = Options.parse(request.query), _selection(request, asked)
        return list_page(self.store, asked.kind, options, selection, view)

    async def _watch(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        options, selection = Options.parse(request.query), _selection(request, asked, named=asked.name)
        response = web.StreamResponse(headers={"Content-Type": _JSON, "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        wire = Wire(request, response, self.faults.thawed, lambda: self.faults.rate)
        watch = Watch(
            self.store,
            asked.kind,
            options,
            selection,
            View(asked.kind, request.headers.get("Accept", "")),
            wire,
            self._bookmark_seconds,
            options.timeout or self._jitter.uniform(*_USUAL_LIFETIME),
        )
        opened = OpenWatch(watch, wire)
        self._watches.add(opened)
        self._opened.set()
        try:
            await watch.run()
        finally:
            self._watches.discard(opened)
            wire.close()
        return response

    async def _discover(self, request: web.Request) -> web.StreamResponse:
        found = discover(request.path, self.faults.missing)
        if found is None:
            return web.Response(status=404, text="404 page not found\n")
        return await self._send(request, orjson.dumps(found) + b"\n")

    async def _send(
        self, request: web.Request, body: bytes, code: int = 200, headers: Mapping[str, str] | None = None
    ) -> web.StreamResponse:
        fields = {"Content-Type": _JSON, "Cache-Control": "no-cache, private", **(headers or {})}
        response = web.StreamResponse(status=code, headers=fields)
        response.content_length = len(body)
        await response.prepare(request)
        wire = Wire(request, response, self.faults.thawed, lambda: self.faults.rate)
        if self.faults.cuts_answer():
            await wire.write(body[: len(body) // 2])
            wire.abort()
            return response
        await wire.write(body)
        return response


def _selection(request: web.Request, asked: Asked, *, named: str | None = None) -> Selection:
    fields = request.query.get("fieldSelector", "")
    if named:
        fields = f"{fields},metadata.name={named}"
    return Selection.parse(asked.namespace, request.query.get("labelSelector", ""), fields)
