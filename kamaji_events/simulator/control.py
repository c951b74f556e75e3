"""The simulator's own HTTP end, under /_simulator/, for actors and testers in other processes.

``GET state`` counts; ``POST faults/<name>`` calls that method of ``Faults`` with the JSON body as its arguments;
``PUT faults`` sets ``latency`` and ``rate``. It asks for no token: a simulator listens where one can be trusted.
"""

import inspect
from http import HTTPStatus
from typing import Any, Protocol

import orjson
from aiohttp import web

from kamaji_events.simulator.faults import Faults
from kamaji_events.simulator.kinds import KINDS
from kamaji_events.simulator.store import Store

__all__ = ["Control"]

_FAULTS = frozenset(
    {
        "refuse",
        "expire",
        "forbid",
        "allow",
        "require_token",
        "cut_answers",
        "freeze",
        "thaw",
        "remove_crd",
        "install_crd",
        "heal",
        "expire_open",
        "cut",
        "truncate",
        "garbage",
        "end",
        "lose_deletes",
        "compact",
        "snapshot",
        "restore",
    }
)
_LEVELS = ("latency", "rate")


class _Served(Protocol):
    @property
    def store(self) -> Store: ...

    @property
    def faults(self) -> Faults: ...

    @property
    def asked(self) -> dict[tuple[str, str], int]: ...

    @property
    def open_watches(self) -> dict[str, int]: ...


class Control:
    """Answers control requests.

    Args:
        served: the simulator.
    """

    def __init__(self, served: _Served) -> None:
        self._served = served

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one."""
        try:
            body = orjson.loads(await request.read() or b"{}")
        except orjson.JSONDecodeError as error:
            return _said(HTTPStatus.BAD_REQUEST, error=str(error))
        match request.method, request.match_info["word"].split("/"):
            case "GET", ["state"]:
                return _said(HTTPStatus.OK, **self._state())
            case "PUT", ["faults"]:
                for name in _LEVELS:
                    setattr(self._served.faults, name, body.get(name, getattr(self._served.faults, name)))
                return _said(HTTPStatus.OK)
            case "POST", ["faults", name] if name in _FAULTS:
                return await self._strike(name, body)
        return _said(HTTPStatus.NOT_FOUND, faults=sorted(_FAULTS))

    async def _strike(self, name: str, body: Any) -> web.Response:
        args, named = (body, {}) if isinstance(body, list) else ((), body)
        try:
            done = getattr(self._served.faults, name)(*args, **named)
            if inspect.isawaitable(done):
                await done
        except (TypeError, KeyError) as error:
            return _said(HTTPStatus.BAD_REQUEST, error=str(error))
        return _said(HTTPStatus.OK)

    def _state(self) -> dict[str, Any]:
        served = self._served
        objects = {kind.plural: len(served.store.state(kind.plural)) for kind in KINDS}
        asked = {f"{verb} {plural}".strip(): count for (verb, plural), count in served.asked.items()}
        return {
            "version": served.store.version,
            "objects": objects,
            "asked": asked,
            "watches": dict(served.open_watches),
        }


def _said(status: HTTPStatus, **content: Any) -> web.Response:
    return web.json_response(content, status=status)
