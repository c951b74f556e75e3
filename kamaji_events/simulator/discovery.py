"""Discovery: which groups, versions and kinds there are."""

from collections.abc import Collection
from typing import Any

from kamaji_events.simulator.kinds import KINDS, Kind

__all__ = ["discover"]

_VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "gitCommit": "simulated",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26.8",
    "compiler": "gc",
    "platform": "linux/amd64",
}
"""Answer of /version."""
_API = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
"""Answer of /api."""
_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def discover(path: str, missing: Collection[str]) -> dict[str, Any] | None:
    """The answer at a path; None when there is nothing.

    Args:
        path: from the root.
        missing: plurals whose definition is not installed.
    """
    found: dict[str, Any] | None = None
    match [word for word in path.split("/") if word]:
        case ["version"]:
            found = _VERSION
        case ["api"]:
            found = _API
        case ["api", version]:
            found = _resources("", version, missing)
        case ["apis"]:
            found = _groups(missing)
        case ["apis", name]:
            found = _one_group(name, missing)
        case ["apis", name, version]:
            found = _resources(name, version, missing)
    return found


def _served(missing: Collection[str]) -> list[Kind]:
    return [kind for kind in KINDS if kind.plural not in missing]


def _groups(missing: Collection[str]) -> dict[str, Any]:
    """Answer of /apis, without kinds whose definition is missing."""
    names = dict.fromkeys(kind.group for kind in _served(missing) if kind.group)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name, missing) for name in names]}


def _one_group(name: str, missing: Collection[str]) -> dict[str, Any] | None:
    """Answer of /apis/<group>; None when it has no kinds."""
    found = _group(name, missing)
    return {"kind": "APIGroup", "apiVersion": "v1"} | found if found["versions"] else None


def _group(name: str, missing: Collection[str]) -> dict[str, Any]:
    served = dict.fromkeys(kind.version for kind in _served(missing) if kind.group == name)
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in served]
    return {"name": name, "versions": versions, "preferredVersion": versions[0] if versions else None}


def _resources(group_name: str, version: str, missing: Collection[str]) -> dict[str, Any] | None:
    """Answer of /apis/<group>/<version> or /api/v1; None when it has no kinds."""
    kinds = [kind for kind in _served(missing) if (kind.group, kind.version) == (group_name, version)]
    if not kinds:
        return None
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group_name else {})
    api_version = kinds[0].api_version
    return head | {"groupVersion": api_version, "resources": [entry for kind in kinds for entry in _entries(kind)]}


def _entries(kind: Kind) -> list[dict[str, Any]]:
    whole = {
        "name": kind.plural,
        "singularName": kind.name.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": _CUSTOM_VERBS if kind.custom else _VERBS,
    }
    if not kind.status:
        return [whole]
    status = {"name": f"{kind.plural}/status", "singularName": "", "namespaced": kind.namespaced, "kind": kind.name}
    return [whole, status | {"verbs": ["get", "patch", "update"]}]
