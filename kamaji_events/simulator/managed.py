"""``metadata.managedFields``: who wrote which field last, as far as a reader of the history can use it.

Simpler than the real server's: lists are one field, and nobody is refused for a conflict.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kamaji_events.simulator.kinds import Kind
from kamaji_events.simulator.version import Object

__all__ = ["manage"]

_Path = tuple[str, ...]
_NOT_MANAGED = frozenset({"apiVersion", "kind", "metadata"})
_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
_ABSENT = object()


def manage(content: Object, old: Object | None, manager: str, now: str, *, kind: Kind, status: bool) -> None:
    """Note in an object that a manager changed it.

    Args:
        content: the object as it is written; its ``managedFields`` are brought up to date in place.
        old: as it was; None when it is created.
        manager: who writes.
        now: when, as a timestamp.
        kind: its kind.
        status: the status subresource is written.
    """
    written: list[_Path] = []
    removed: list[_Path] = []
    for path, there in _changes(_managed(content), _managed(old or {"metadata": {}})):
        (written if there else removed).append(path)
    entries = content["metadata"].get("managedFields") or []
    mine = next((entry for entry in entries if _is_of(entry, manager, status=status)), None)
    for entry in entries:
        for path in (*removed, *(() if entry is mine else written)):
            _take_out(entry["fieldsV1"], path)
    if written and mine is None:
        mine = {"apiVersion": kind.api_version, "fieldsType": "FieldsV1", "fieldsV1": {}}
        mine |= {"manager": manager, "operation": "Update"} | ({"subresource": "status"} if status else {})
        entries.append(mine)
    if mine is not None:
        mine["time"] = now
        for path in written:
            _put_in(mine["fieldsV1"], path)
    content["metadata"]["managedFields"] = [entry for entry in entries if entry["fieldsV1"]]


def _is_of(entry: Object, manager: str, *, status: bool) -> bool:
    return bool(entry["manager"] == manager and ("subresource" in entry) is status)


def _managed(content: Object) -> Object:
    """What managers own of an object."""
    metadata = content["metadata"]
    shown = {name: metadata[name] for name in _METADATA if name in metadata}
    return {key: value for key, value in content.items() if key not in _NOT_MANAGED} | {"metadata": shown}


def _changes(new: Mapping[str, Any], old: Mapping[str, Any], above: _Path = ()) -> Iterator[tuple[_Path, bool]]:
    """Paths that differ, and whether there is something now."""
    for key, value in new.items():
        before = old.get(key, _ABSENT)
        if value == before:
            continue
        former = before if isinstance(before, dict) else {}
        if isinstance(value, dict) and (value or former):
            yield from _changes(value, former, (*above, key))
        else:
            yield (*above, key), True
    yield from (((*above, key), False) for key in old if key not in new)


def _put_in(tree: Object, path: _Path) -> None:
    for word in path:
        tree = tree.setdefault(f"f:{word}", {})


def _take_out(tree: Object, path: _Path) -> None:
    """Remove a path and what is below it, and what is left without anything by that."""
    key = f"f:{path[0]}"
    if key not in tree:
        return
    if len(path) > 1:
        _take_out(tree[key], path[1:])
    if len(path) == 1 or not tree[key]:
        del tree[key]
