"""Following one kind as plain JSON: what is asked for, and what a server's faults lead to."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import orjson
import pytest

from kamaji_events.errors import ClusterRefused, ClusterUnavailable, ResourceExpired
from publisher.follow import Followed, Line, follow
from publisher.watch.ask import METADATA_ONLY, Ask, Target
from publisher.watch.backoff import Backoff

_TARGET = Target("kamaji.clastix.io", "v1alpha1", "tenantcontrolplanes")
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

Answer = bytes | Exception


class _Script:
    """A source that answers from a script: lists and watches in the order in which they are asked."""

    server = "https://scripted"

    def __init__(self, lists: list[Answer], watches: list[Answer]) -> None:
        self._lists = deque(lists)
        self._watches = deque(watches)
        self.asked: list[Ask] = []

    async def get(self, ask: Ask) -> bytes:
        self.asked.append(ask)
        return _given(self._lists.popleft())

    @asynccontextmanager
    async def stream(self, ask: Ask) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append(ask)
        yield _chunks(_given(self._watches.popleft()))


def _given(answer: Answer) -> bytes:
    if isinstance(answer, Exception):
        raise answer
    return answer


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    """In pieces that end anywhere."""
    for start in range(0, len(content), 40):
        yield content[start : start + 40]


def _object(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def _list(version: int, *items: dict[str, Any] | None, after: str = "") -> bytes:
    metadata = {"resourceVersion": str(version)} | ({"continue": after, "remainingItemCount": 9} if after else {})
    return orjson.dumps({"metadata": metadata, "items": list(items) or None})


def _lines(*lines: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps({"type": kind, "object": object_}) + b"\n" for kind, object_ in lines)


def _followed(**changes: Any) -> Followed:
    return Followed(_TARGET, backoff=Backoff(base=0.0), **changes)


async def _take(script: _Script, count: int, what: Followed | None = None) -> list[Line]:
    taken: list[Line] = []
    async with aclosing(follow(script, what or _followed())) as lines:
        async for line in lines:
            taken.append(line)
            if len(taken) == count:
                break
    return taken


async def test_pages_become_one_list_and_the_watch_goes_on_behind_it() -> None:
    """All pages are one LIST line as of their version; a null list is an empty one."""
    script = _Script(
        [_list(5, _object("a", 1), after="more"), _list(5, _object("b", 2))], [_lines(("ADDED", _object("c", 6)))]
    )

    first, second = await _take(script, 2)

    assert first == ("LIST", {"metadata": {"resourceVersion": "5"}, "items": [_object("a", 1), _object("b", 2)]})
    assert second == ("ADDED", _object("c", 6))
    assert [ask.params.get("continue") for ask in script.asked[:2]] == [None, "more"]
    assert script.asked[2].params["resourceVersion"] == "5"


async def test_owned_kinds_are_asked_for_metadata_only() -> None:
    """By the Accept header of both, so that no content of a Secret ever leaves the server; the selector goes along."""
    script = _Script([_list(5)], [_lines(("ADDED", _object("c", 6)))])

    await _take(script, 2, _followed(metadata_only=True, selector="kamaji.clastix.io/name"))

    assert [ask.accept for ask in script.asked] == [METADATA_ONLY, _METADATA]
    assert {ask.params["labelSelector"] for ask in script.asked} == {"kamaji.clastix.io/name"}


async def test_a_watch_that_ends_is_resumed_from_the_last_version() -> None:
    """Bookmarks count as versions too, and are given on."""
    bookmark = ("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    script = _Script([_list(5)], [_lines(("ADDED", _object("c", 6)), bookmark), _lines(("DELETED", _object("c", 10)))])

    assert [kind for kind, _ in await _take(script, 4)] == ["LIST", "ADDED", "BOOKMARK", "DELETED"]
    assert script.asked[-1].params["resourceVersion"] == "9"


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        (ClusterUnavailable("refused", retry_after=0.0), ["LIST", "ADDED"]),
        (b"not json\n", ["LIST", "ADDED"]),
        (ResourceExpired("410"), ["LIST", "LIST", "ADDED"]),
        (_lines(("ERROR", {"kind": "Status", "code": 410})), ["LIST", "ERROR", "LIST", "ADDED"]),
    ],
    ids=["unavailable", "garbage", "expired", "error line"],
)
async def test_trouble_is_survived(trouble: Answer, expected: list[str]) -> None:
    """What is only cut is watched again; what was forgotten is listed again."""
    script = _Script([_list(5), _list(7, _object("a", 7))], [trouble, _lines(("ADDED", _object("b", 8)))])

    assert [kind for kind, _ in await _take(script, len(expected))] == expected


async def test_a_missing_right_is_the_callers_matter() -> None:
    """Whether to go on without a kind is not decided here."""
    with pytest.raises(ClusterRefused):
        await _take(_Script([ClusterRefused("403")], []), 1)
