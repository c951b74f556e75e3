"""Ids, operation ids, sequences and cluster names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kamaji_events import identity
from kamaji_events.errors import SettingsError


@pytest.mark.parametrize("name", ["eu-1", "a", "0", "x" * 40, "-"])
def test_cluster_names_of_the_contract_pass(name: str) -> None:
    """Lower-case letters, digits and dashes, up to 40 of them, are a cluster's name."""
    assert identity.check_cluster(name) == name


def test_a_missing_name_is_called_missing() -> None:
    """Nobody wrote an empty name: it was not given."""
    with pytest.raises(SettingsError, match="missing"):
        identity.check_cluster("")


@pytest.mark.parametrize("name", ["", "eu.1", "eu_1", "EU", "x" * 41, "a b", "ü", "eu-1\n", "*", "#"])
def test_anything_else_is_refused_with_the_cure(name: str) -> None:
    """A dot, an underscore, a capital or a wildcard would break routing keys, so the start is refused."""
    with pytest.raises(SettingsError, match="lower-case letters"):
        identity.check_cluster(name)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (identity.operation_id("u", "upgrade", 3), "u.upgrade.3"),
        (identity.operation_id("u", "create"), "u.create"),
        (identity.operation_id("u", "rotation", "abc", epoch=2), "u~2.rotation.abc"),
        (identity.state_id("u", "77", "state.ready"), "u.77.state.ready"),
        (identity.state_id("u", "77", "state.ready", epoch=3), "u~3.77.state.ready"),
        (identity.instance_id("p-0", 4, 9), "p-0.4.9"),
        (identity.sequence(1, 42), "000001-00000000000042"),
        (identity.subject("ns", "n"), "ns/n"),
        (identity.subject(None, "store"), "store"),
    ],
)
def test_names_are_made_as_the_contract_says(made: str, expected: str) -> None:
    """Each name is made of facts of the object alone."""
    assert made == expected


@given(st.lists(st.tuples(st.integers(1, 999_999), st.integers(0, 10**14 - 1)), min_size=2))
def test_sequences_order_as_strings(pairs: list[tuple[int, int]]) -> None:
    """Sorting sequences as strings sorts them by epoch and counter."""
    assert sorted(identity.sequence(*pair) for pair in pairs) == [identity.sequence(*pair) for pair in sorted(pairs)]
