"""The default name of a replica: no other cluster's publisher has it, so no two events share an id."""

import pytest

from kamaji_events.errors import SettingsError
from publisher.settings import PublisherSettings


def test_publishers_of_two_clusters_on_one_host_have_two_names() -> None:
    """Ids of a publisher's own events begin with its name, and receivers tell events apart by id."""
    names = {PublisherSettings.load(environ={}, cluster=cluster).instance for cluster in ("eu-1", "eu-2")}

    assert len(names) == 2
    assert all(name.startswith("eu-") for name in names)


def test_a_name_that_was_given_is_kept() -> None:
    """A pod's name from the chart, for instance."""
    assert PublisherSettings.load(environ={"KAMAJI_EVENTS_INSTANCE": "pod-1"}, cluster="eu-1").instance == "pod-1"


def test_a_long_host_name_is_cut_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A default must never stop a start."""
    monkeypatch.setattr("socket.gethostname", lambda: "h" * 200)

    assert len(PublisherSettings.load(environ={}, cluster="eu-1").instance) == 63


def test_a_name_with_other_characters_is_refused() -> None:
    """It stands in ids, subjects and metric labels."""
    with pytest.raises(SettingsError, match="letters, digits"):
        PublisherSettings.load(environ={"KAMAJI_EVENTS_INSTANCE": "a b"}, cluster="eu-1")
