"""Answers the questions that only the API server can answer, by listing; nothing is ever written.

Owned objects are listed as metadata: the server never sends the content of a Secret or ConfigMap.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar

import msgspec

from kamaji_events.errors import ClusterUnavailable, KamajiEventsError
from publisher.lifecycle.looks import Found, Look, LookAnswer, LookKind
from publisher.watch.ask import METADATA_ONLY, Ask, Target
from publisher.watch.backoff import Backoff
from publisher.watch.discovery import find_targets
from publisher.watch.source import Source

__all__ = ["LookSettings", "answer"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

_OWNED = {
    "Deployment": Target("apps", "v1", "deployments"),
    "Service": Target("", "v1", "services"),
    "ConfigMap": Target("", "v1", "configmaps"),
    "Ingress": Target("networking.k8s.io", "v1", "ingresses"),
}
_SECRET = Target("", "v1", "secrets")
_JOB = Target("batch", "v1", "jobs")
_GATEWAY = "gateway.networking.k8s.io"
_ROUTES = {"httproutes": "HTTPRoute", "tlsroutes": "TLSRoute", "grpcroutes": "GRPCRoute"}

_PAGE = "500"
_TRIES = 4
"""Tries of one list before its kind counts as not verified."""
_MOST = 256
"""Characters of a Job's message."""


class LookSettings(Protocol):
    """Those of the publisher's settings that matter here."""

    @property
    def watch_secrets(self) -> bool:
        """List Secrets too."""

    @property
    def kamaji_namespace(self) -> str:
        """Where migrate Jobs are."""


class _Owner(msgspec.Struct):
    uid: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    owner_references: list[_Owner] | None = None
    deletion_timestamp: datetime | None = None
    finalizers: list[str] | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _Item(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _Status | None = None


class _ListMeta(msgspec.Struct, rename={"following": "continue"}):
    following: str | None = None


class _List(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[_Item] | None = None


Sleep = Callable[[float], Awaitable[None]]


async def answer(source: Source, look: Look, settings: LookSettings, *, sleep: Sleep = asyncio.sleep) -> LookAnswer:
    """Answer one question; what cannot be found out is named in the answer, never raised.

    Args:
        source: the API client.
        look: the question.
        settings: what may be listed, and where.
        sleep: waits between tries.
    """
    if look.kind is LookKind.MIGRATE_JOB:
        return await _migrate_job(source, look, settings, sleep)
    return await _cleanup(source, look, settings, sleep)


async def _cleanup(source: Source, look: Look, settings: LookSettings, sleep: Sleep) -> LookAnswer:
    kinds, unverified = await _kinds(source, settings, sleep)
    selector = f"kamaji.clastix.io/name={look.name}"

    async def one(kind: str, target: Target) -> tuple[str, list[_Item] | None]:
        inside = replace(target, namespace=look.namespace)
        return kind, await _patiently(lambda: _list(source, inside, selector, METADATA_ONLY), sleep)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(kind, target), name=f"look for {kind}") for kind, target in kinds.items()]
    results = dict(task.result() for task in tasks)
    return LookAnswer(
        look,
        found=tuple(_found(kind, item) for kind, items in results.items() for item in items or ()),
        verified=tuple(kind for kind, items in results.items() if items is not None),
        unverified=(*(kind for kind, items in results.items() if items is None), *unverified),
    )


async def _kinds(source: Source, settings: LookSettings, sleep: Sleep) -> tuple[dict[str, Target], list[str]]:
    """What can be listed, by kind, and what cannot be."""
    kinds = dict(_OWNED)
    unverified: list[str] = []
    routes = await _patiently(lambda: find_targets(source, _GATEWAY, list(_ROUTES)), sleep)
    if routes is None:
        unverified += _ROUTES.values()
    kinds |= {_ROUTES[target.resource]: target for target in routes or ()}
    if settings.watch_secrets:
        kinds["Secret"] = _SECRET
    else:
        unverified.append("Secret")
    return kinds, unverified


async def _migrate_job(source: Source, look: Look, settings: LookSettings, sleep: Sleep) -> LookAnswer:
    target = replace(_JOB, namespace=settings.kamaji_namespace)
    selector = f"tcp.kamaji.clastix.io/name={look.name},tcp.kamaji.clastix.io/namespace={look.namespace}"
    items = await _patiently(lambda: _list(source, target, selector), sleep)
    if items is None:
        return LookAnswer(look, unverified=("Job",))
    return LookAnswer(look, found=tuple(_found("Job", item) for item in items), verified=("Job",))


async def _patiently(ask: Callable[[], Awaitable[T]], sleep: Sleep) -> T | None:
    """What is asked for, after some tries if it must be; None when it cannot be had."""
    backoff = Backoff()
    while True:
        try:
            return await ask()
        except ClusterUnavailable as error:
            if backoff.failures + 1 >= _TRIES:
                _log.warning("a kind cannot be verified: %s", error)
                return None
            await sleep(backoff.failed(asked=error.retry_after))
        except KamajiEventsError as error:
            _log.warning("a kind cannot be verified: %s", error)
            return None


async def _list(source: Source, target: Target, selector: str, accept: str = "application/json") -> list[_Item]:
    params = {"labelSelector": selector, "limit": _PAGE}
    items: list[_Item] = []
    while True:
        page = _read(source, target, await source.get(Ask("list", target.path, target, params, accept)))
        items += page.items or ()
        if not page.metadata.following:
            return items
        params = params | {"continue": page.metadata.following}


def _read(source: Source, target: Target, body: bytes) -> _List:
    try:
        return msgspec.json.decode(body, type=_List)
    except msgspec.DecodeError as error:
        raise ClusterUnavailable(f"{source.server} answered list {target} with something else") from error


def _found(kind: str, item: _Item) -> Found:
    state, message = _state(item) if kind == "Job" else ("", "")
    return Found(
        kind,
        item.metadata.name,
        owners=tuple(owner.uid for owner in item.metadata.owner_references or ()),
        deleting=item.metadata.deletion_timestamp is not None,
        finalizers=tuple(item.metadata.finalizers or ()),
        state=state,
        message=message,
    )


def _state(item: _Item) -> tuple[str, str]:
    """A Job's end, or that it has none yet, with what its condition says."""
    for condition in (item.status.conditions if item.status else None) or ():
        if condition.status == "True" and condition.type in {"Complete", "Failed", "Suspended"}:
            return condition.type, " ".join((condition.message or condition.reason or "").split())[:_MOST]
    return "Running", ""
