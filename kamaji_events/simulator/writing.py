"""The verbs that write, over HTTP: for actors in other processes, and so that one suite can run on both servers."""

from typing import Any

import orjson
from aiohttp import web

from kamaji_events.simulator.asked import Asked
from kamaji_events.simulator.refusal import Refusal, bad_request, invalid, not_found
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.version import Object

__all__ = ["write"]

_MERGE = "application/merge-patch+json"
_KEEP_NOTHING = b"\n"


async def write(store: Store, asked: Asked, request: web.Request) -> tuple[int, bytes]:
    """Do what a request asks for; gives the answer's status and body.

    Raises:
        Refusal: as a real API server would.
    """
    manager = request.query.get("fieldManager") or request.headers.get("User-Agent", "").partition("/")[0] or "unknown"
    match asked.verb:
        case "create":
            return 201, _shown(_create(store, asked, await _body(request), manager))
        case "update":
            return 200, _shown(_update(store, asked, await _body(request), manager))
        case "patch":
            return 200, _shown(_patch(store, asked, await _patch_body(request), manager))
        case "delete":
            return 200, _shown(_delete(store, asked))
    return 200, _shown(_delete_all(store, asked))


def _shown(content: Object) -> bytes:
    return orjson.dumps(content) + _KEEP_NOTHING


async def _body(request: web.Request) -> Object:
    try:
        body = orjson.loads(await request.read())
    except orjson.JSONDecodeError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error
    if not isinstance(body, dict) or not isinstance(body.get("metadata", {}), dict):
        raise bad_request("the object provided is unrecognized: no object with metadata")
    return body


async def _patch_body(request: web.Request) -> Object:
    if request.content_type != _MERGE:
        raise Refusal(415, "UnsupportedMediaType", f"the simulator takes {_MERGE} only")
    return await _body(request)


def _create(store: Store, asked: Asked, body: Object, manager: str) -> Object:
    kind, metadata = asked.kind, body.setdefault("metadata", {})
    if asked.namespace:
        if store.version_of("namespaces", None, asked.namespace) is None:
            raise Refusal(
                404, "NotFound", f'namespaces "{asked.namespace}" not found',
                details={"name": asked.namespace, "kind": "namespaces"},
            )  # fmt: skip
        metadata["namespace"] = asked.namespace
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            sentence = "Required value: name or generateName is required"
            what = f"{kind.name}.{kind.group}" if kind.group else kind.name
            raise invalid(what, kind.group, kind.name, "metadata.name", sentence, reason="FieldValueRequired")
        metadata["name"] = store.generated(metadata["generateName"])
    if kind.plural == "namespaces":
        store.create_namespace(body, manager=manager)
        return store.get("namespaces", None, metadata["name"]) or body
    return store.create(kind.plural, body, manager=manager)


def _update(store: Store, asked: Asked, body: Object, manager: str) -> Object:
    kind, metadata = asked.kind, body.setdefault("metadata", {})
    metadata |= {"name": asked.name} | ({"namespace": asked.namespace} if asked.namespace else {})
    if asked.part == "finalize":
        return _finalize(store, asked, body)
    if (
        kind.custom
        and not metadata.get("resourceVersion")
        and store.version_of(kind.plural, asked.namespace, asked.name or "")
    ):
        sentence = "Invalid value: 0: must be specified for an update"
        raise invalid(
            kind.qualified, kind.group, kind.plural, "metadata.resourceVersion", sentence,
            reason="FieldValueInvalid", name=asked.name or "",
        )  # fmt: skip
    if asked.part == "status":
        return store.update_status(kind.plural, body, manager=manager)
    return store.update(kind.plural, body, manager=manager)


def _finalize(store: Store, asked: Asked, body: Object) -> Object:
    if not body.get("spec", {}).get("finalizers"):
        store.finalize_namespace(asked.name or "")
    return body


def _patch(store: Store, asked: Asked, patch: Object, manager: str) -> Object:
    plural = asked.kind.plural
    present = store.get(plural, asked.namespace, asked.name or "")
    if present is None:
        raise not_found(asked.kind, asked.name or "")
    patched = _merged(present, patch)
    if asked.part == "status":
        return store.update_status(plural, patched, manager=manager)
    return store.update(plural, patched, manager=manager)


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _delete(store: Store, asked: Asked) -> Object:
    name = asked.name or ""
    before = store.version_of(asked.kind.plural, asked.namespace, name)
    left = store.delete(asked.kind.plural, asked.namespace, name)
    if left is not None:
        return left
    details = {
        "name": name,
        "group": asked.kind.group,
        "kind": asked.kind.plural,
        "uid": before.meta.uid if before else "",
    }
    shown = {key: value for key, value in details.items() if value}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": shown}


def _delete_all(store: Store, asked: Asked) -> Object:
    state = sorted(store.state(asked.kind.plural).items())
    inside = [version for _, version in state if asked.namespace in {None, version.meta.namespace}]
    for version in inside:
        store.delete(asked.kind.plural, version.meta.namespace, version.meta.name)
    items = [version.content() for version in inside]
    metadata = {"resourceVersion": str(store.version)}
    return {
        "apiVersion": asked.kind.api_version,
        "items": items,
        "kind": f"{asked.kind.name}List",
        "metadata": metadata,
    }
