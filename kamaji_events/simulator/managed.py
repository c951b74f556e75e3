"""``metadata.managedFields``: who wrote which field last, as far as a reader of the history can use it.

Simpler than the real server's: lists are one field, and nobody is refused for a conflict.
"""

from collections.abc import Iterator
from typing import Any

from kamaji_events.simulator.kinds import Kind
from kamaji_events.simulator.version import Object

__all__ = ["manage"]

_Path = tuple[str, ...]
_NOT_MANAGED = frozenset({"apiVersion", "kind"})
_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


def manage(content: Object, old: Object | None, manager: str, now: str, *, kind: Kind, status: bool) -> None:
    """Note in an object that a manager changed it.

    Args:
        content: the object as it is written; it gets the new ``managedFields``.
        old: as it was; None when it is created.
        manager: who writes.
        now: when, as a timestamp.
        kind: its kind.
        status: the status subresource is written.
    """
    after, before = dict(_leaves(content)), dict(_leaves(old or {}))
    changed = {path for path, value in after.items() if before.get(path, _ABSENT) != value}
    entries = []
    mine: set[_Path] = set(changed)
    for entry in content["metadata"].get("managedFields") or ():
        paths = set(_paths(entry["fieldsV1"]))
        if entry["manager"] == manager and (entry.get("subresource") == "status") is status:
            mine |= paths & after.keys()
        elif kept := (paths - changed) & after.keys():
            entries.append({**entry, "fieldsV1": _tree(kept)})
    if mine:
        entry = {"apiVersion": kind.api_version, "fieldsType": "FieldsV1", "fieldsV1": _tree(mine)}
        entry |= {"manager": manager, "operation": "Update", "time": now}
        entries.append(entry | ({"subresource": "status"} if status else {}))
    content["metadata"]["managedFields"] = entries


_ABSENT = object()


def _leaves(content: Object) -> Iterator[tuple[_Path, Any]]:
    for key, value in content.items():
        if key == "metadata":
            for name in _METADATA:
                if name in value:
                    yield from _below(("metadata", name), value[name])
        elif key not in _NOT_MANAGED:
            yield from _below((key,), value)


def _below(path: _Path, value: Any) -> Iterator[tuple[_Path, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _below((*path, key), inner)
    else:
        yield path, value


def _tree(paths: set[_Path]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        node = tree
        for word in path:
            node = node.setdefault(f"f:{word}", {})
    return tree


def _paths(tree: dict[str, Any], above: _Path = ()) -> Iterator[_Path]:
    if not tree and above:
        yield above
    for key, inner in tree.items():
        if key == ".":
            continue
        yield from _paths(inner, (*above, key.removeprefix("f:")))
