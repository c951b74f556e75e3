"""`schema`, as a user runs it."""

import json
from pathlib import Path

import jsonschema
import pytest

from kamaji_events.catalogue import CATALOGUE
from kamaji_events.envelope import SCHEMA_BASE
from tests.support.command import kamaji_events


def test_one_event_has_its_schema() -> None:
    """As it is, valid, under the name that dataschema gives."""
    done = kamaji_events("schema", "upgrade.completed")
    schema = json.loads(done.stdout)

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"{SCHEMA_BASE}tenantcontrolplane.upgrade.completed"


def test_all_of_them_by_type() -> None:
    """The whole catalogue."""
    assert set(json.loads(kamaji_events("schema").stdout)) == {event.type for event in CATALOGUE}
    assert kamaji_events("schema", "--list").stdout.splitlines() == [event.type for event in CATALOGUE]


def test_a_folder_to_serve(tmp_path: Path) -> None:
    """One file for each event, named as dataschema ends."""
    folder = tmp_path / "schemas"
    done = kamaji_events("schema", "datastore.*", "--folder", str(folder), "--base", "https://s.example/v1/")

    assert done.returncode == 0
    ready = json.loads((folder / "datastore.state.ready").read_text())
    assert ready["$id"] == "https://s.example/v1/datastore.state.ready"


@pytest.mark.parametrize("words", [["upgarde.completed"], ["--folder", "/proc/nowhere"]])
def test_what_cannot_be_is_told(words: list[str]) -> None:
    """Exit code 2 and one line."""
    done = kamaji_events("schema", *words)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
