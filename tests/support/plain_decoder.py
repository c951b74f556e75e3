"""A decoder for tests of the watch: a snapshot is an object's name and resourceVersion."""

from typing import Any, NamedTuple

import orjson

from publisher.observation import Change, ChangeType, Page, Status

__all__ = ["PlainDecoder", "Seen"]


class Seen(NamedTuple):
    """What a test wants to know of an object."""

    name: str
    version: str


class PlainDecoder:
    """Reads with orjson, strictly enough to refuse an object without metadata."""

    def line(self, raw: bytes) -> Change[Seen]:
        """See ``Decoder``."""
        read = orjson.loads(raw)
        if not isinstance(read, dict):
            raise ValueError("no object")  # noqa: TRY004 - what a decoder promises
        kind, found = ChangeType(read["type"]), read["object"]
        if kind is ChangeType.ERROR:
            details = found.get("details") or {}
            said = Status(found["code"], found["reason"], found["message"], details.get("retryAfterSeconds"))
            return Change(kind, "", status=said, size=len(raw))
        if kind is ChangeType.BOOKMARK:
            notes = found["metadata"].get("annotations") or {}
            end = notes.get("k8s.io/initial-events-end") == "true"
            return Change(kind, found["metadata"]["resourceVersion"], initial_events_end=end, size=len(raw))
        seen = _seen(found)
        return Change(kind, seen.version, seen, size=len(raw))

    def page(self, raw: bytes) -> Page[Seen]:
        """See ``Decoder``."""
        read = orjson.loads(raw)
        items = read["items"] or []
        good = [_seen(item) for item in items if item.get("metadata")]
        said = read["metadata"]
        return Page(good, said["resourceVersion"], said.get("continue", ""), len(items) - len(good))


def _seen(item: dict[str, Any]) -> Seen:
    try:
        return Seen(item["metadata"]["name"], item["metadata"]["resourceVersion"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"no usable metadata: {error}") from error
