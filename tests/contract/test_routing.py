"""Routing keys and the words that bindings use."""

from hypothesis import given
from hypothesis import strategies as st

from kamaji_events.catalogue import CATALOGUE, EventType, Kind, lookup
from kamaji_events.routing import KEY_BYTES, name_words, routing_key

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", fullmatch=True)
NAMESPACES = st.none() | st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
CLUSTERS = st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True)


@given(st.sampled_from(CATALOGUE), CLUSTERS, NAMESPACES, NAMES)
def test_a_key_has_six_words_and_fits(event: EventType, cluster: str, namespace: str | None, name: str) -> None:
    """Whatever the names, a key is six words of at most 255 bytes, and its last word is one that bindings know."""
    key = routing_key(event, cluster, namespace, name)

    assert len(key.encode()) <= KEY_BYTES
    assert key.count(".") == 5
    assert key.rpartition(".")[2] in name_words(name)


@given(NAMES, NAMES)
def test_two_names_share_no_word_unless_dots_are_all_that_differs(one: str, other: str) -> None:
    """A binding on one name never catches another's events, but for names that only differ in ``.`` and ``_``."""
    if one.replace(".", "_") != other.replace(".", "_"):
        assert not set(name_words(one)) & set(name_words(other))


def test_dots_and_absent_namespaces_become_underscores() -> None:
    """The object is read from the event, never from the key."""
    upgrade = lookup(Kind.TENANTCONTROLPLANE, "upgrade.completed")
    created = lookup(Kind.DATASTORE, "state.created")

    assert routing_key(upgrade, "eu-1", "tenants", "a.b") == "tenantcontrolplane.upgrade.completed.eu-1.tenants.a_b"
    assert routing_key(created, "eu-1", None, "store") == "datastore.state.created.eu-1._.store"


def test_a_long_name_keeps_its_start_and_gets_a_hash() -> None:
    """A name of 253 characters stays recognisable and unmistakable."""
    key = routing_key(lookup(Kind.TENANTCONTROLPLANE, "upgrade.completed"), "eu-1", "tenants", "x" * 253)

    assert "xxxxxxxx~" in key
