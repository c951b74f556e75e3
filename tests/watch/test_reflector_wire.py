"""The reflector against a real HTTP server that misbehaves."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from publisher.observation import Changed, Observation, Resource, SyncEnded, SyncItem, SyncStarted
from publisher.watch.api import Api
from publisher.watch.lines import LineSplitter
from publisher.watch.policy import WatchPolicy
from publisher.watch.reflector import Reflector
from tests.support.plain_decoder import PlainDecoder, Seen
from tests.support.tiny_cluster import TinyCluster, begin, bookmark, event, status

FAST = WatchPolicy(backoff_base=0.001, backoff_most=0.002, missing_most=0.002, list_silence=0.2, stable=0.0)
TCPS = Resource.TENANTCONTROLPLANES


def reflector(api: Api, *, policy: WatchPolicy = FAST, start: str | None = None) -> Reflector[Seen]:
    """A reflector that does not wait long."""
    return Reflector(api, TCPS, PlainDecoder(), policy=policy, start=start)


def told(observation: Observation[Seen]) -> str:
    """An observation in one word."""
    match observation:
        case SyncStarted():
            return "started"
        case SyncItem(_, snapshot):
            return f"item {snapshot.name}"
        case SyncEnded(_, version):
            return f"ended {version}"
        case Changed(_, change):
            name = f" {change.snapshot.name}" if change.snapshot else ""
            return f"{change.type}{name} {change.resource_version}"


async def read(reading: Reflector[Seen], count: int) -> list[str]:
    """The next observations."""
    return [told(await anext(aiter(reading))) for _ in range(count)]


async def test_a_streaming_list_goes_on_as_the_watch(cluster: TinyCluster, api: Api) -> None:
    """Where the server has streaming lists one request lists and watches."""
    cluster.objects = {"a": 1, "b": 2}
    async with reflector(api) as reading:
        assert await read(reading, 4) == ["started", "item a", "item b", "ended 100"]
        await cluster.say("MODIFIED", "a")
        assert await read(reading, 1) == ["MODIFIED a 101"]

        assert reading.problem is None
    assert (cluster.count("stream"), cluster.count("list"), cluster.count("watch")) == (1, 0, 0)


async def test_a_refused_streaming_list_falls_back_to_pages(cluster: TinyCluster, api: Api) -> None:
    """A server without streaming lists is asked in pages, and once only."""
    cluster.objects = dict.fromkeys("abcde", 1)
    cluster.streaming = False
    policy = WatchPolicy(page=2, backoff_base=0.001)
    async with reflector(api, policy=policy) as reading:
        assert await read(reading, 7) == ["started", *(f"item {name}" for name in "abcde"), "ended 100"]
        await cluster.say("DELETED", "c")
        assert await read(reading, 1) == ["DELETED c 101"]
    assert (cluster.count("stream"), cluster.count("list")) == (1, 3)


async def test_an_ignored_streaming_list_is_found_out(cluster: TinyCluster, api: Api) -> None:
    """A server that takes it for an ordinary watch never ends the list: an ordinary bookmark gives it away."""

    async def ignores(request: web.Request) -> web.StreamResponse:
        response = await begin(request)
        await response.write(event("ADDED", "a", 1) + bookmark(100))
        await asyncio.Event().wait()
        return response

    cluster.objects = {"a": 1}
    cluster.scripts["stream"].append(ignores)
    async with reflector(api) as reading:
        assert await read(reading, 5) == ["started", "item a", "started", "item a", "ended 100"]


async def test_a_silent_streaming_list_falls_back_to_pages(cluster: TinyCluster, api: Api) -> None:
    """The same without bookmarks: silence gives it away."""

    async def ignores(request: web.Request) -> web.StreamResponse:
        response = await begin(request)
        await response.write(event("ADDED", "a", 1))
        await asyncio.Event().wait()
        return response

    cluster.objects = {"a": 1}
    cluster.scripts["stream"].append(ignores)
    async with reflector(api) as reading:
        assert await read(reading, 5) == ["started", "item a", "started", "item a", "ended 100"]
        assert reading.stats.silent == 1


async def test_changes_that_overtake_a_streaming_list_are_told_after_it(cluster: TinyCluster, api: Api) -> None:
    """On a busy server live changes come before the mark that ends the list; none is lost, none ends it."""

    async def busy(request: web.Request) -> web.StreamResponse:
        response = await begin(request)
        lines = [
            event("ADDED", "a", 1),
            event("ADDED", "b", 2),
            event("MODIFIED", "a", 101),
            event("DELETED", "b", 102),
        ]
        await response.write(b"".join(lines) + bookmark(102, end=True))
        return response

    cluster.scripts["stream"].append(busy)
    async with reflector(api) as reading:
        assert await read(reading, 4) == ["started", "item a", "item b", "ended 102"]
        assert await read(reading, 2) == ["MODIFIED a 101", "DELETED b 102"]
        assert reading.version == "102"


async def test_a_cut_watch_goes_on_where_it_was(cluster: TinyCluster, api: Api) -> None:
    """After a cut nothing is listed: the watch resumes from the last change, or bookmark, that was read."""
    async with reflector(api) as reading:
        await read(reading, 2)
        await cluster.say("ADDED", "a")
        assert await read(reading, 1) == ["ADDED a 101"]
        cluster.version = 150
        await cluster.send(bookmark(150))
        assert await read(reading, 1) == ["BOOKMARK 150"]
        await cluster.cut()
        await cluster.say("MODIFIED", "a")
        assert await read(reading, 1) == ["MODIFIED a 151"]
        assert reading.stats.syncs == 1
    assert [asked.query["resourceVersion"] for asked in cluster.asked if asked.verb == "watch"] == ["150"]


async def test_a_remembered_version_is_resumed_without_a_list(cluster: TinyCluster, api: Api) -> None:
    """A start with a version that the server still has says nothing of what was known."""
    cluster.objects = {"a": 1}
    cluster.scripts["watch"].append(answering(event("MODIFIED", "a", 100)))
    async with reflector(api, start="90") as reading:
        assert await read(reading, 1) == ["MODIFIED a 100"]
    assert [asked.query["resourceVersion"] for asked in cluster.asked if asked.verb == "watch"] == ["90"]


async def test_a_server_behind_the_remembered_version_is_found_out(cluster: TinyCluster, api: Api) -> None:
    """Its watch would be accepted and stay silent for ever: the list that follows says from where it was rewound."""
    cluster.objects = {"a": 1}
    async with reflector(api, start="5000") as reading:
        first = await anext(aiter(reading))
        assert first == SyncStarted(TCPS, rewound_from="5000")
        assert await read(reading, 2) == ["item a", "ended 100"]
        assert reading.stats.rewound == 1
    assert cluster.count("watch") == 0


async def test_a_server_that_goes_back_under_a_running_watch_is_found_out(cluster: TinyCluster, api: Api) -> None:
    """An etcd restored from a backup cuts every watch; the look before the resume finds it."""
    async with reflector(api) as reading:
        await read(reading, 2)
        cluster.version = 40
        await cluster.cut()
        assert await anext(aiter(reading)) == SyncStarted(TCPS, rewound_from="100")
        assert await read(reading, 1) == ["ended 40"]


def answering(*lines: bytes, code: int = 200, headers: dict[str, str] | None = None) -> Any:
    """An answer of some lines that then ends."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"".join(lines), status=code, headers=headers)

    return answer


def refusing(code: int, **headers: str) -> Any:
    """A Status as the answer."""
    return answering(json.dumps(status(code, "Because", "said the server")).encode(), code=code, headers=headers)


EXPIRED = b'{"type":"ERROR","object":' + json.dumps(status(410, "Expired", "too old")).encode() + b"}\n"


@pytest.mark.parametrize("gone", [refusing(410), answering(EXPIRED)], ids=["status", "line"])
async def test_a_version_that_is_too_old_leads_to_a_list(cluster: TinyCluster, api: Api, gone: Any) -> None:
    """410 comes as the answer's status, or as an ERROR line in a 200 stream: both mean list and compare."""
    cluster.objects = {"a": 95}
    cluster.scripts["watch"].append(gone)
    async with reflector(api, start="3") as reading:
        assert await read(reading, 3) == ["started", "item a", "ended 100"]
        assert (reading.stats.expired, reading.stats.relists) == (1, 1)


async def test_an_error_line_of_another_kind_is_no_reason_to_list(cluster: TinyCluster, api: Api) -> None:
    """The server's own trouble in a stream means trying again from where we were."""
    line = b'{"type":"ERROR","object":' + json.dumps(status(500, "InternalError", "etcd")).encode() + b"}\n"
    cluster.scripts["watch"].append(answering(line))
    cluster.scripts["watch"].append(answering(event("MODIFIED", "a", 101)))
    async with reflector(api, start="100") as reading:
        assert await read(reading, 1) == ["MODIFIED a 101"]
        assert reading.stats.syncs == 0


@pytest.mark.parametrize("size", [1_400_000, 15_000_000])
async def test_long_lines_are_read(cluster: TinyCluster, api: Api, size: int) -> None:
    """An object of etcd's largest size, and one far beyond it."""
    async with reflector(api) as reading:
        await read(reading, 2)
        cluster.version = 101
        await cluster.send(event("ADDED", "big", 101, spec={"text": "x" * size}))
        observation = await anext(aiter(reading))
        assert isinstance(observation, Changed)
        assert observation.change.size > size


async def test_an_object_without_metadata_is_skipped(
    cluster: TinyCluster, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """Garbage that is JSON is counted and logged; the stream goes on."""
    async with reflector(api) as reading:
        await read(reading, 2)
        cluster.version = 101
        for line in (b'{"type":"ADDED","object":{}}\n', b'{"type":"WHAT","object":{}}\n', b"[]\n", b"\n"):
            await cluster.send(line)
        await cluster.say("ADDED", "a")
        assert await read(reading, 1) == ["ADDED a 102"]
        assert (reading.stats.garbage, reading.stats.reconnects) == (3, 0)
    assert "is no usable object and is skipped" in caplog.text


@pytest.mark.parametrize("line", [b"<html>\n", b'{"type":"ADDED","object":{"metadata"'], ids=["foreign", "cut"])
async def test_a_line_that_is_no_json_breaks_the_stream(cluster: TinyCluster, api: Api, line: bytes) -> None:
    """What follows cannot be trusted: the watch begins again from the last version that was read."""
    cluster.version = 102
    cluster.scripts["watch"].append(answering(event("ADDED", "a", 101), line))
    cluster.scripts["watch"].append(answering(event("ADDED", "b", 102)))
    async with reflector(api, start="100") as reading:
        assert await read(reading, 2) == ["ADDED a 101", "ADDED b 102"]
        assert reading.stats.syncs == 0
    assert [asked.query["resourceVersion"] for asked in cluster.asked if asked.verb == "watch"] == ["100", "101"]


async def test_garbage_that_stays_leads_to_a_list(cluster: TinyCluster, api: Api) -> None:
    """A line that breaks every watch from one version on is got around by listing."""
    cluster.scripts["watch"].extend(answering(b"<html>\n") for _ in range(3))
    async with reflector(api, start="100") as reading:
        assert await read(reading, 2) == ["started", "ended 100"]
        assert reading.stats.broken == 3


async def test_a_list_that_expires_begins_again_with_larger_pages(cluster: TinyCluster, api: Api) -> None:
    """Compaction overtakes a slow list: 410 to the continue token; half a list is no list."""

    async def first_page(request: web.Request) -> web.StreamResponse:
        return web.json_response(cluster.page(request))

    cluster.objects = dict.fromkeys("abcde", 1)
    cluster.scripts["list"].extend([first_page, refusing(410)])
    policy = WatchPolicy(page=2, streaming=False, backoff_base=0.001)
    async with reflector(api, policy=policy) as reading:
        assert await read(reading, 3) == ["started", "item a", "item b"]
        assert await read(reading, 7) == ["started", *(f"item {name}" for name in "abcde"), "ended 100"]
    assert [asked.query["limit"] for asked in cluster.asked if asked.verb == "list"] == ["2", "2", "4", "4"]


async def test_too_many_requests_are_waited_for_as_asked(cluster: TinyCluster, api: Api) -> None:
    """429 comes with a Retry-After and sometimes without a body, to LIST and to WATCH."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    cluster.scripts["stream"].append(answering(code=429, headers={"Retry-After": "7"}))
    cluster.scripts["watch"].append(refusing(429, **{"Retry-After": "3"}))
    policy = WatchPolicy(backoff_base=0.001, backoff_most=0.002)
    async with Reflector(api, TCPS, PlainDecoder(), policy=policy, sleep=sleep) as reading:
        assert await read(reading, 2) == ["started", "ended 100"]
        await cluster.cut()
        await cluster.say("ADDED", "a")
        assert await read(reading, 1) == ["ADDED a 101"]
    asked = [wait for wait in waits if wait > 1]
    assert len(asked) == 2
    assert 7 <= asked[0] <= 7 * 1.25
    assert 3 <= asked[1] <= 3 * 1.25


async def test_a_refusal_names_the_rule_and_ends_when_it_is_granted(
    cluster: TinyCluster, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """403 is a problem that a person must mend; it is told once, and found mended without a restart."""
    problems: list[str | None] = []

    async def sleep(_: float) -> None:
        problems.append(reading.problem)

    cluster.scripts["stream"].extend([refusing(403)] * 3)
    reading = Reflector(api, TCPS, PlainDecoder(), policy=FAST, sleep=sleep)
    async with reading:
        assert await read(reading, 2) == ["started", "ended 100"]
        assert reading.problem is None
    assert len(set(problems)) == 1
    problem = problems[0]
    assert problem is not None
    for part in ("watch", "'tenantcontrolplanes'", "'kamaji.clastix.io'", "said the server"):
        assert part in problem
    assert caplog.text.count("forbids") == 1


async def test_a_kind_that_is_not_installed_is_waited_for(cluster: TinyCluster, api: Api) -> None:
    """404 from discovery: the CRD is not there yet; nothing is listed until it is."""
    problems: list[str | None] = []

    async def sleep(_: float) -> None:
        problems.append(reading.problem)

    cluster.scripts["discovery"].extend([refusing(404)] * 2)
    reading = Reflector(api, TCPS, PlainDecoder(), policy=FAST, sleep=sleep)
    async with reading:
        assert await read(reading, 2) == ["started", "ended 100"]
    assert all(problem is not None and "is the CRD installed?" in problem for problem in problems)
    assert len(problems) == 2


async def test_a_kind_that_was_gone_is_listed_when_it_returns(cluster: TinyCluster, api: Api) -> None:
    """A CRD that was removed took its objects along: the memory must be compared."""
    async with reflector(api) as reading:
        await read(reading, 2)
        cluster.scripts["watch"].append(refusing(404))
        await cluster.cut()
        assert await read(reading, 2) == ["started", "ended 100"]


async def test_a_server_that_is_away_is_a_problem_until_it_returns(cluster: TinyCluster, api: Api) -> None:
    """Errors of every kind are waited out."""
    cluster.scripts["discovery"].extend([refusing(500), refusing(503), answering(b"<html>"), answering(code=302)])
    async with reflector(api) as reading:
        assert await read(reading, 2) == ["started", "ended 100"]
        assert reading.stats.failures == 4


async def test_the_watch_outlives_its_reader(cluster: TinyCluster, api: Api) -> None:
    """Leaving the block in the midst of a list closes the connection and leaves no task behind."""
    cluster.objects = {str(n): n for n in range(2000)}
    async with reflector(api) as reading:
        await read(reading, 3)
    assert len(asyncio.all_tasks()) <= 4


async def test_a_list_that_is_none_is_waited_out(cluster: TinyCluster, api: Api) -> None:
    """A page of something else in place of a list is no empty list: nothing is believed to be gone."""
    cluster.objects = {"a": 1}
    cluster.scripts["list"].append(answering(b"<html>sorry</html>"))
    async with reflector(api, policy=replace(FAST, streaming=False)) as reading:
        assert await read(reading, 3) == ["started", "item a", "ended 100"]
        assert reading.stats.broken == 1


async def test_a_line_without_an_end_breaks_the_stream(
    cluster: TinyCluster, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory stays bounded whatever is sent; a list gets around what the watch cannot carry."""
    monkeypatch.setattr("publisher.watch.stream.LineSplitter", lambda: LineSplitter(most=1000))
    cluster.scripts["watch"].extend(answering(b"x" * 2000) for _ in range(3))
    async with reflector(api, start="100") as reading:
        assert await read(reading, 2) == ["started", "ended 100"]


async def test_a_reflector_must_be_entered(api: Api) -> None:
    """A mistake in the caller is told as such."""
    with pytest.raises(RuntimeError, match="not entered"):
        aiter(reflector(api))
