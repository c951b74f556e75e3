"""Who made a change, as ``metadata.managedFields`` name it."""

from typing import Any

import orjson
from msgspec import Raw, Struct

__all__ = ["Manager", "manager_of"]


class Manager(Struct, frozen=True):
    """A field manager."""

    name: str
    time: str
    """RFC 3339, empty when it is not told."""


def manager_of(raw: Raw, paths: list[str]) -> Manager | None:
    """The manager that last wrote one of the paths, or the last one of all when none says that it owns them.

    Args:
        raw: ``metadata.managedFields``.
        paths: from the object's root, such as ``spec.kubernetes.version``.
    """
    entries = [entry for entry in _entries(raw) if entry.get("subresource") != "status"]
    owning = [entry for entry in entries if any(_owns(entry.get("fieldsV1"), path.split(".")) for path in paths)]
    candidates = owning or entries
    if not candidates:
        return None
    last = max(candidates, key=_time)
    return Manager(str(last.get("manager", "")), _time(last))


def _entries(raw: Raw) -> list[dict[str, Any]]:
    try:
        found = orjson.loads(bytes(raw))
    except orjson.JSONDecodeError:
        return []
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _time(entry: dict[str, Any]) -> str:
    return str(entry.get("time") or "")


def _owns(fields: Any, words: list[str]) -> bool:
    """Whether the fields reach down a path; a key may hold dots itself, such as a label's, so it may be many words."""
    if not words:
        return True
    if not isinstance(fields, dict):
        return False
    heads = ((f"f:{'.'.join(words[:count])}", words[count:]) for count in range(1, len(words) + 1))
    return any(_owns(fields[head], rest) for head, rest in heads if head in fields)
