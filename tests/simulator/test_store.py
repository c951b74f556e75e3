"""The store: resourceVersions, history, writes, backups."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kamaji_events.simulator import Store
from kamaji_events.simulator.history import Expired, Past
from kamaji_events.simulator.refusal import Refusal
from kamaji_events.simulator.version import Version

TCPS = "tenantcontrolplanes"


def tcp(name: str = "acme", **members: Any) -> dict[str, Any]:
    """A control plane to write."""
    return {"metadata": {"name": name, "namespace": "tenants"}, "spec": {"wanted": 1}, **members}


def managers(content: dict[str, Any]) -> dict[str, set[str]]:
    """Who owns which parts of an object."""
    return {entry["manager"]: set(entry["fieldsV1"]) for entry in content["metadata"]["managedFields"]}


def test_one_counter_for_every_kind() -> None:
    """Writes of any kind count the one resourceVersion, by one each."""
    store = Store()
    first = store.create(TCPS, tcp())
    second = store.create("services", {"metadata": {"name": "acme", "namespace": "tenants"}})

    assert int(second["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 1
    assert store.version == int(second["metadata"]["resourceVersion"])


def test_what_is_given_out_is_a_copy() -> None:
    """Changing an object that was read or written changes nothing in the store."""
    store = Store()
    made = store.create(TCPS, tcp())
    made["spec"]["wanted"] = 9
    read = store.get(TCPS, "tenants", "acme")
    assert read
    read["spec"]["wanted"] = 9

    assert store.get(TCPS, "tenants", "acme") != read


def test_the_same_seed_gives_the_same_uids() -> None:
    """Uids come from the seed, so that a run can be repeated."""
    first, second, other = Store(seed=1), Store(seed=1), Store(seed=2)
    uids = [store.create(TCPS, tcp())["metadata"]["uid"] for store in (first, second, other)]

    assert uids[0] == uids[1] != uids[2]


def test_a_deletion_takes_the_status_along() -> None:
    """What is deleted is told as it last was, at a version of its own."""
    seen: list[Past] = []
    store = Store(on_change=seen.append)
    made = store.create(TCPS, tcp())
    store.update_status(TCPS, made | {"status": {"ready": True}})
    store.delete(TCPS, "tenants", "acme")

    assert seen[-1].kind == "DELETED"
    assert seen[-1].version.content()["status"] == {"ready": True}
    assert seen[-1].number == store.version > seen[-2].number


def test_managed_fields_tell_who_wrote_what() -> None:
    """Each manager owns what it wrote last; a field changes hands, one that goes is nobody's."""
    store = Store()
    made = store.create(TCPS, tcp(), manager="helm")
    made["metadata"]["labels"] = {"tier": "gold"}
    edited = store.update(TCPS, made, manager="kubectl")
    shown = store.update_status(TCPS, edited | {"status": {"ready": True}}, manager="kamaji")
    del shown["metadata"]["labels"]
    shown["spec"] = {"wanted": 2}
    last = store.update(TCPS, shown, manager="kubectl")

    assert managers(edited) == {"helm": {"f:spec"}, "kubectl": {"f:metadata"}}
    assert managers(last) == {"kubectl": {"f:spec"}, "kamaji": {"f:status"}}


def test_managed_fields_can_be_left_out() -> None:
    """Without them objects are half the size."""
    assert "managedFields" not in Store(managed_fields=False).create(TCPS, tcp())["metadata"]


def test_history_is_a_window() -> None:
    """Older changes than the window holds are forgotten: whoever asks for them is told so."""
    store = Store(window=3)
    first = store.version
    made = store.create(TCPS, tcp())
    for wanted in range(2, 7):
        made["spec"] = {"wanted": wanted}
        made = store.update(TCPS, made)

    with pytest.raises(Expired):
        store.history(TCPS).position(first)
    position = store.history(TCPS).position(store.version - 3)
    told = store.history(TCPS).since(position, 10)
    assert [past.version.content()["spec"]["wanted"] for past in told or ()] == [4, 5, 6]


def test_a_reader_that_fell_behind_the_window() -> None:
    """Positions before the window are gone."""
    store = Store(window=2)
    start = store.history(TCPS).end
    for number in range(5):
        store.create(TCPS, tcp(f"tcp-{number}"))

    assert store.history(TCPS).since(start, 10) is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["write", "delete"])), max_size=30), st.data())
def test_the_past_can_be_had_again(acts: list[tuple[str, str]], data: st.DataObject) -> None:
    """At any remembered version the state is what it was then."""
    store = Store()
    states: dict[int, dict[str, int]] = {}
    for wanted, (name, act) in enumerate(acts):
        present = store.get(TCPS, "tenants", name)
        if act == "delete" and present:
            store.delete(TCPS, "tenants", name)
        elif present:
            store.update(TCPS, present | {"spec": {"wanted": wanted}})
        else:
            store.create(TCPS, tcp(name, spec={"wanted": wanted}))
        states[store.version] = _wanted(store.state(TCPS))
    for version in data.draw(st.lists(st.sampled_from(sorted(states)))) if states else []:
        assert _wanted(store.state(TCPS, version)) == states[version]


def _wanted(state: dict[str, Version]) -> dict[str, int]:
    return {key: version.content()["spec"]["wanted"] for key, version in state.items()}


def test_a_backup_is_restored() -> None:
    """After restoring, versions go back and what came later never was; the history up to the backup is there."""
    store = Store()
    start = store.version
    store.create(TCPS, tcp("stays"))
    backup = store.snapshot()
    store.create(TCPS, tcp("lost"))
    store.delete(TCPS, "tenants", "stays")
    store.restore(backup)

    assert store.version == backup.version
    assert sorted(store.state(TCPS)) == ["/tenants/stays"]
    assert store.history(TCPS).since(store.history(TCPS).position(start), 9) is not None
    store.create(TCPS, tcp("again"))
    assert sorted(backup.state[TCPS]) == ["/tenants/stays"]


def test_a_namespace_comes_with_the_first_object() -> None:
    """Actors need not create namespaces; in one that is going nothing is created."""
    store = Store()
    store.create(TCPS, tcp())
    store.delete("namespaces", None, "tenants")

    with pytest.raises(Refusal, match="being terminated"):
        store.create(TCPS, tcp("late"))
    store.finalize_namespace("tenants")
    store.create(TCPS, tcp("new"))


def test_a_replayed_change_keeps_its_version() -> None:
    """A change from elsewhere has its own version, which must be newer than the last one of its kind."""
    store = Store()
    made = Version.from_object(store_kind(), tcp() | {"apiVersion": "v", "kind": "k"}).at(5_000)
    store.say("ADDED", made)

    assert store.version == 5_000
    with pytest.raises(ValueError, match="not newer"):
        store.say("MODIFIED", made)


def store_kind() -> Any:
    """The control planes' kind."""
    from kamaji_events.simulator.kinds import kind_of  # noqa: PLC0415 - only here

    return kind_of(TCPS)
