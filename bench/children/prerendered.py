"""An API server that costs its reader no time: every answer about control planes is rendered before it is asked for.

Argument: how many control planes. It says where it is, in one line, and serves until its standard input ends.
"""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import orjson
from aiohttp import web

from bench.children.answering import answering
from bench.upgrades import upgrades
from kamaji_events.simulator import multiply
from kamaji_events.simulator.discovery import discover

__all__ = ["rendered"]

_PIECE = 256 * 1024
_TCPS = "tenantcontrolplanes"


def rendered(count: int) -> bytes:
    """A streaming list of so many control planes, with the bookmark that ends it."""
    listed = next(line for line in multiply([upgrades()], count) if line.type == "LIST" and line.resource == _TCPS)
    items = orjson.loads(bytes(listed.object))["items"]
    lines = [orjson.dumps({"type": "ADDED", "object": item}) for item in items]
    metadata = {"resourceVersion": "999999", "annotations": {"k8s.io/initial-events-end": "true"}}
    head = {"apiVersion": "kamaji.clastix.io/v1alpha1", "kind": "TenantControlPlane", "metadata": metadata}
    return b"\n".join([*lines, orjson.dumps({"type": "BOOKMARK", "object": head}), b""])


def _pieces(blob: bytes) -> Iterator[bytes]:
    return (blob[start : start + _PIECE] for start in range(0, len(blob), _PIECE))


async def _main(count: int) -> None:
    blob = rendered(count)

    async def answer(request: web.Request) -> web.StreamResponse:
        if _TCPS not in request.path:
            return web.json_response(discover(request.path, frozenset()))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for piece in _pieces(blob):
            await response.write(piece)
        await asyncio.Event().wait()
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()

    async def told(_: dict[str, Any]) -> Any:
        return {"url": f"http://127.0.0.1:{runner.addresses[0][1]}", "bytes": len(blob)}

    await answering(told)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
