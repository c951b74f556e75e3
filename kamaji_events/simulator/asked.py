"""A request's path and method as what is asked for."""

from collections.abc import Collection
from dataclasses import dataclass

from kamaji_events.simulator.kinds import KINDS, Kind

__all__ = ["Asked"]

_BY_PLACE = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_NAMESPACED = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """A verb on a kind, in a namespace or on one object."""

    verb: str
    """As rules name it: get, list, watch, create, update, patch, delete, deletecollection."""
    kind: Kind
    namespace: str | None = None
    name: str | None = None
    part: str = ""
    """Subresource."""

    @classmethod
    def read(cls, method: str, path: str, *, watch: bool, missing: Collection[str] = ()) -> "Asked | None":
        """Understand a request; None when nothing is served there.

        Args:
            method: HTTP method.
            path: from the root.
            watch: the query asks for a watch.
            missing: plurals whose definition is not installed.
        """
        words = [word for word in path.split("/") if word]
        place, rest = _place(words)
        namespace = None
        if len(rest) > _NAMESPACED and rest[0] == "namespaces" and rest[2] not in {"status", "finalize"}:
            namespace, rest = rest[1], rest[2:]
        kind = _BY_PLACE.get((*place, rest[0])) if rest else None
        if kind is None or kind.plural in missing or (namespace and not kind.namespaced):
            return None
        name, part = [*rest[1:], "", ""][:2]
        return cls(_verb(method, bool(name), watch=watch), kind, namespace, name or None, part)


def _place(words: list[str]) -> tuple[tuple[str, str], list[str]]:
    match words:
        case ["api", version, *rest]:
            return ("", version), rest
        case ["apis", group, version, *rest]:
            return (group, version), rest
    return ("", ""), []


def _verb(method: str, named: bool, *, watch: bool) -> str:  # noqa: FBT001 - inside
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    if method in _VERBS:
        return _VERBS[method]
    if watch:
        return "watch"
    return "get" if named else "list"
