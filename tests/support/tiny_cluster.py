"""An API server of a few lines, whose every answer a test can replace: for faults on the wire.

For behaviour over many objects use the simulator.
"""

import asyncio
import json
import ssl
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

__all__ = ["Asked", "Handler", "TinyCluster", "event", "status"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
GROUP = "/apis/kamaji.clastix.io"
PATH = f"{GROUP}/v1alpha1/tenantcontrolplanes"


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    verb: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


def status(code: int, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    """A Kubernetes Status."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return body | {"reason": reason, "message": message, "details": details}


def event(kind: str, name: str, version: int, **members: Any) -> bytes:
    """A watch line of an object."""
    return json.dumps({"type": kind, "object": item(name, version) | members}).encode() + b"\n"


def bookmark(version: int, *, end: bool = False) -> bytes:
    """A bookmark's line."""
    notes = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    return (
        json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version), **notes}}}).encode()
        + b"\n"
    )


def item(name: str, version: int) -> dict[str, Any]:
    """An object of nothing but metadata."""
    return {"metadata": {"name": name, "namespace": "t", "uid": name, "resourceVersion": str(version)}}


@dataclass
class TinyCluster:
    """Discovery, paged and streaming lists and watches over one kind.

    Scripts replace answers: ``cluster.scripts["watch"]`` holds handlers that are used up one by one before the
    ordinary answers come again; the verbs are list, watch, stream (a streaming list), check (limit=1) and discovery.
    """

    tls: ssl.SSLContext | None = None
    version: int = 100
    objects: dict[str, int] = field(default_factory=dict)
    """Names and resourceVersions."""
    streaming: bool = True
    """False refuses streaming lists as a server without that feature does."""
    token: str | None = None
    """What the Authorization header must say; None accepts anybody."""
    asked: list[Asked] = field(default_factory=list)
    scripts: dict[str, deque[Handler]] = field(default_factory=lambda: defaultdict(deque))
    url: str = ""

    def __post_init__(self) -> None:
        self._log: list[tuple[int, bytes]] = []
        self._changed = asyncio.Condition()
        self._cuts = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self.tls)
        await site.start()
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.cut()
        await self._runner.cleanup()

    def count(self, verb: str) -> int:
        """How often something was asked."""
        return sum(asked.verb == verb for asked in self.asked)

    async def say(self, kind: str, name: str) -> int:
        """Change an object and tell every watch; gives its resourceVersion."""
        self.version += 1
        if kind == "DELETED":
            self.objects.pop(name, None)
        else:
            self.objects[name] = self.version
        return await self.send(event(kind, name, self.version))

    async def send(self, line: bytes) -> int:
        """Send a line of any kind to every watch, as of the present version."""
        async with self._changed:
            self._log.append((self.version, line))
            self._changed.notify_all()
        return self.version

    async def cut(self) -> None:
        """End every watch."""
        async with self._changed:
            self._cuts += 1
            self._changed.notify_all()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        verb = _verb(request)
        self.asked.append(Asked(verb, request.path, dict(request.query), dict(request.headers)))
        if self.scripts[verb]:
            return await self.scripts[verb].popleft()(request)
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response(status(401, "Unauthorized", "Unauthorized"), status=401)
        match verb:
            case "discovery":
                return self._discover(request)
            case "list" | "check":
                return web.json_response(self.page(request))
            case "stream" if not self.streaming:
                refusal = status(422, "Invalid", "sendInitialEvents is forbidden for watch unless WatchList is enabled")
                return web.json_response(refusal, status=422)
            case _:
                return await self._watch(request)

    def _discover(self, request: web.Request) -> web.Response:
        version = {"groupVersion": "kamaji.clastix.io/v1alpha1", "version": "v1alpha1"}
        if request.path == GROUP:
            return web.json_response({"versions": [version], "preferredVersion": version})
        if request.path == f"{GROUP}/v1alpha1":
            return web.json_response({"resources": [{"name": "tenantcontrolplanes"}, {"name": "datastores"}]})
        return web.json_response(status(404, "NotFound"), status=404)

    def page(self, request: web.Request) -> dict[str, Any]:
        """The ordinary answer to a LIST."""
        names = sorted(self.objects)
        start = int(request.query.get("continue", "0"))
        limit = int(request.query.get("limit", "0")) or len(names)
        following = str(start + limit) if start + limit < len(names) else ""
        items = [item(name, self.objects[name]) for name in names[start : start + limit]]
        return {"metadata": {"resourceVersion": str(self.version), "continue": following}, "items": items or None}

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = await begin(request)
        since = int(request.query.get("resourceVersion") or self.version)
        if "sendInitialEvents" in request.query:
            for name, version in sorted(self.objects.items()):
                await response.write(event("ADDED", name, version))
            await response.write(bookmark(self.version, end=True))
            since = self.version
        cuts, sent = self._cuts, 0
        while True:
            async with self._changed:
                while self._cuts == cuts and len(self._log) == sent:
                    await self._changed.wait()
                lines = [line for version, line in self._log[sent:] if version > since]
                sent = len(self._log)
                over = self._cuts > cuts
            if over:
                return response
            for line in lines:
                await response.write(line)


def _verb(request: web.Request) -> str:
    if not request.path.startswith(f"{GROUP}/v1alpha1/"):
        return "discovery" if request.path.startswith(GROUP) else "other"
    if "sendInitialEvents" in request.query:
        return "stream"
    if "watch" in request.query:
        return "watch"
    return "check" if request.query.get("limit") == "1" else "list"


async def begin(request: web.Request) -> web.StreamResponse:
    """Begin a 200 answer that goes on."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    return response
