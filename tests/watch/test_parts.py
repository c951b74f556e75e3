"""The watch's pure parts."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kamaji_events.errors import (
    ClusterError,
    ClusterRefused,
    ClusterUnavailable,
    KindMissing,
    ResourceExpired,
)
from publisher.watch.ask import KAMAJI_GROUP, Ask, Target
from publisher.watch.backoff import Backoff
from publisher.watch.lines import LineSplitter, LineTooLongError
from publisher.watch.proxies import environment_proxy
from publisher.watch.status import AskInvalidError, CredentialsRefusedError, failure
from publisher.watch.versions import is_behind


@given(st.lists(st.binary(max_size=30).map(lambda part: part.replace(b"b", b"\n")), max_size=20))
def test_lines_do_not_depend_on_the_chunks(chunks: list[bytes]) -> None:
    """However a stream is cut into chunks, its lines and its rest are the same."""
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    *whole, rest = b"".join(chunks).split(b"\n")
    assert lines == [line for line in whole if line.strip()]
    assert splitter.rest() == rest


def test_a_line_without_an_end_is_refused() -> None:
    """Memory is bounded, whatever is sent."""
    splitter = LineSplitter(most=10)
    assert splitter.feed(b"0123456789\n012345678") == [b"0123456789"]
    splitter.feed(b"9")
    with pytest.raises(LineTooLongError):
        splitter.feed(b"x")


@given(st.integers(1, 2000), st.integers(), st.one_of(st.none(), st.floats(0, 1e9)))
def test_waits_stay_within_their_bounds(failures: int, seed: int, asked: float | None) -> None:
    """Half to all of a doubling bound, and never less than asked, up to five minutes and a quarter."""
    rng = random.Random(seed)  # noqa: S311 - jitter
    backoff = Backoff(base=1.0, most=30.0, rng=rng, failures=failures - 1)
    wait = backoff.failed(asked=asked)
    full = min(30.0, 2.0 ** min(failures - 1, 30))
    assert wait >= full / 2
    assert wait <= max(full, min(asked or 0.0, 300.0) * 1.25)
    if asked is not None:
        assert wait >= min(asked, 300.0)


def test_waits_begin_anew_after_success() -> None:
    """A row of failures ends."""
    backoff = Backoff(base=1.0, most=30.0)
    for _ in range(10):
        backoff.failed()
    backoff.worked()
    assert backoff.failed() <= 1.0


@pytest.mark.parametrize(
    ("server", "remembered", "behind"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("", "5", False),
        ("abc", "5", False),
        ("5", "٣", False),
    ],
)
def test_versions_are_compared_as_numbers(server: str, remembered: str, behind: bool) -> None:  # noqa: FBT001
    """What is no number says nothing."""
    assert is_behind(server, remembered) is behind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, AskInvalidError),
        (401, CredentialsRefusedError),
        (403, ClusterRefused),
        (404, KindMissing),
        (410, ResourceExpired),
        (422, AskInvalidError),
        (429, ClusterUnavailable),
        (500, ClusterUnavailable),
        (504, ClusterUnavailable),
        (302, ClusterUnavailable),
        (799, ClusterUnavailable),
    ],
)
@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b'{"kind":"Status","message":"m","details":null}'])
def test_every_code_means_something(code: int, kind: type[ClusterError], body: bytes) -> None:
    """Whatever the body is."""
    ask = Ask.of("list", Target(KAMAJI_GROUP, "v1alpha1", "datastores"))
    error = failure(code, {}, body, ask, "https://server")
    assert type(error) is kind
    assert "https://server" in str(error) or kind is ResourceExpired


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"Retry-After": "5"}, b"", 5.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, b"", None),
        ({"Retry-After": "nan"}, b"", None),
        ({"Retry-After": "-1"}, b"", None),
        ({}, b'{"kind":"Status","details":{"retryAfterSeconds":3}}', 3.0),
        ({"Retry-After": "0"}, b'{"kind":"Status","details":{"retryAfterSeconds":3}}', 0.0),
    ],
)
def test_what_the_server_asks_to_wait(headers: dict[str, str], body: bytes, wait: float | None) -> None:
    """The header first, then the Status."""
    ask = Ask.of("list", Target("", "v1", "secrets", "ns"))
    error = failure(429, headers, body, ask, "https://server")
    assert isinstance(error, ClusterUnavailable)
    assert error.retry_after == wait


def test_a_refusal_names_verb_kind_group_and_namespace() -> None:
    """What to add to a role can be read from it."""
    error = failure(403, {}, b"", Ask.of("list", Target("apps", "v1", "deployments", "ns")), "https://server")
    assert "list deployments.apps in namespace ns" in str(error)
    assert "apiGroups: ['apps'], resources: ['deployments'], verbs: ['list']" in str(error)


@pytest.mark.parametrize(
    ("url", "no_proxy", "proxy"),
    [
        ("https://10.96.0.1:443", "", "http://p:1"),
        ("https://10.96.0.1:443", "10.0.0.0/8", None),
        ("https://10.96.0.1:443", "192.168.0.0/16,nonsense/8", "http://p:1"),
        ("https://api.example.com", "example.com", None),
        ("https://api.example.com", ".example.com", None),
        ("https://api.example.com", "*.example.com", None),
        ("https://example.com", ".example.com", "http://p:1"),
        ("https://notexample.com", "example.com", "http://p:1"),
        ("https://api.example.com:6443", "api.example.com:6443", None),
        ("https://api.example.com:6443", "api.example.com:443", "http://p:1"),
        ("https://api.example.com", "*", None),
        ("https://[fd00::1]:443", "fd00::/8", None),
        ("https://[fd00::1]:443", "fd00::1", None),
        ("https://127.0.0.1:6443", "", None),
        ("https://localhost:6443", "", None),
        ("http://api.example.com", "", None),
    ],
)
def test_the_environments_proxy(url: str, no_proxy: str, proxy: str | None) -> None:
    """NO_PROXY knows networks, names with and without a dot, and ports, as Go does; loopback never has a proxy."""
    assert environment_proxy(url, {"HTTPS_PROXY": "p:1", "no_proxy": no_proxy}) == proxy
