"""Filters: bindings and judgement say the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kamaji_events.catalogue import CATALOGUE, EventType
from kamaji_events.envelope import Message, encode
from kamaji_events.errors import FilterError
from kamaji_events.event import Event
from kamaji_events.filter import Filter

EVENT_PATTERNS = st.sampled_from(
    [
        "*",
        "upgrade.*",
        "*.completed",
        "up*.started",
        "datastore.*",
        "state.ready",
        "tenantcontrolplane.state.*",
        "*.*.*",
    ]
)
WORDS = st.sampled_from(["a", "b", "team-a", "team-b"])
PATTERNS = st.sampled_from(["a", "team-*", "*", "b"])


def message(event: EventType, namespace: str | None = "ns", cluster: str = "c", **labels: str) -> Message:
    """An event of that type, with labels."""
    data: dict[str, Any] = {"object": {"labels": labels}, "severity": event.severity}
    return encode(
        event,
        cluster=cluster,
        namespace=namespace,
        name="n",
        uid="u",
        id="i",
        seconds=0,
        sequence="s",
        term=1,
        data=data,
    )


def topic_matches(pattern: str, key: str) -> bool:
    """What a topic exchange does, without ``#``."""
    pairs = zip(pattern.split("."), key.split("."), strict=True)
    return all(wanted in ("*", part) for wanted, part in pairs)


@given(
    st.sampled_from(CATALOGUE),
    WORDS,
    WORDS,
    st.lists(EVENT_PATTERNS, max_size=3),
    st.lists(PATTERNS, max_size=2),
    st.lists(PATTERNS, max_size=2),
)
def test_what_matches_comes_through_a_binding(
    event: EventType,
    cluster: str,
    namespace: str,
    events: list[str],
    clusters: list[str],
    namespaces: list[str],
) -> None:
    """No event that a filter wants is kept back by its own bindings."""
    wanted = Filter(events=tuple(events), clusters=tuple(clusters), namespaces=tuple(namespaces))
    sent = message(event, namespace, cluster)

    if wanted.matches(Event.from_bytes(sent.body)):
        assert any(topic_matches(binding, sent.routing_key) for binding in wanted.bindings())


@pytest.mark.parametrize(
    ("events", "bindings"),
    [
        ((), ("*.*.*.*.*.*",)),
        (("*",), ("*.*.*.*.*.*",)),
        (("upgrade.*",), ("*.upgrade.*.*.*.*",)),
        (("datastore.*",), ("datastore.*.*.*.*.*",)),
        (("io.clastix.kamaji.tenantcontrolplane.state.ready",), ("tenantcontrolplane.state.ready.*.*.*",)),
        (("up*.started",), ("tenantcontrolplane.upgrade.started.*.*.*",)),
    ],
)
def test_patterns_become_bindings(events: tuple[str, ...], bindings: tuple[str, ...]) -> None:
    """As much of a pattern as a routing key can carry goes into the binding."""
    assert Filter(events=events).bindings() == bindings


def test_a_great_many_namespaces_are_judged_instead_of_bound() -> None:
    """Bindings stay few; the reader judges the rest."""
    many = Filter(namespaces=tuple(f"ns-{n}" for n in range(2000)))

    assert many.bindings() == ("*.*.*.*.*.*",)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [("upgraded.*", "did you mean"), ("a.b.c.d", "two words"), ("", "two words"), ("zzz.qqq", "docs/events.md")],
)
def test_a_pattern_that_matches_nothing_is_refused_with_a_hint(pattern: str, hint: str) -> None:
    """A typo in a filter must not become silence."""
    with pytest.raises(FilterError, match=hint):
        Filter(events=(pattern,))


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        ("", {}, True),
        ("tier=gold", {"tier": "gold"}, True),
        ("tier==gold", {"tier": "silver"}, False),
        ("tier!=gold", {}, True),
        ("env in (prod,stage)", {"env": "stage"}, True),
        ("env notin (prod)", {"env": "prod"}, False),
        ("example.com/team", {"example.com/team": ""}, True),
        ("!test", {"test": "1"}, False),
        ("tier=gold,env in (prod, stage),!test", {"tier": "gold", "env": "prod"}, True),
    ],
)
def test_label_selectors_read_as_in_kubernetes(selector: str, labels: dict[str, str], *, expected: bool) -> None:
    """Equality, set and existence requirements, all of which must hold."""
    event = Event.from_bytes(message(CATALOGUE[0], **labels).body)

    assert Filter(labels=selector).matches(event) is expected


@pytest.mark.parametrize("selector", ["=x", "a in b", "a in (", "a b", "a,,b"])
def test_a_malformed_selector_names_the_part(selector: str) -> None:
    """The part that cannot be read stands in the error."""
    with pytest.raises(FilterError, match="label selector"):
        Filter(labels=selector)


@pytest.mark.parametrize("part", ["clusters", "namespaces"])
@pytest.mark.parametrize("pattern", ["", "a.b", "#"])
def test_names_with_dots_or_hashes_are_refused(part: str, pattern: str) -> None:
    """No namespace or cluster can be called so."""
    with pytest.raises(FilterError, match="pattern"):
        Filter(**{part: (pattern,)})  # type: ignore[arg-type]
