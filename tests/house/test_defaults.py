"""The services' defaults are pinned: one moves only on purpose, since users rely on it."""

from typing import Any

from pydantic import BaseModel, SecretStr

from consumers.settings import ConsumerSettings
from publisher.settings import PublisherSettings


def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        value = field.get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            found[name] = value.model_dump()
        elif not isinstance(value, SecretStr):
            found[name] = value
    return found


_SHARED = {"log_level": "info", "log_format": "auto", "health_host": "0.0.0.0", "health_port": 8080, "prefix": "kamaji"}


def test_the_publishers_defaults() -> None:
    """Limits as the event reference tells them."""
    found = _defaults(PublisherSettings)
    assert found.pop("instance") == "", "made of the cluster and the host"

    assert found == {
        **_SHARED,
        "cluster": "",
        "kubeconfig": None,
        "context": None,
        "watch_secrets": False,
        "kamaji_namespace": "kamaji-system",
        "announce_existing": False,
        "annotations": (),
        "limits": {
            "create": 600,
            "upgrade": 900,
            "migrate": 1800,
            "scale": 600,
            "sleep": 600,
            "wake": 600,
            "rotation": 600,
            "delete": 300,
        },
        "outage_hold": 60,
        "alive_interval": 60,
        "compare_interval": 21_600,
        "buffer_bytes": 67_108_864,
        "batch_changes": 500,
        "confirm_timeout": 30,
        "history_age": 604_800,
        "journal": True,
        "heartbeat": 5,
        "schema_base": "urn:kamaji-events:schema:v1:",
    }


def test_the_consumers_defaults() -> None:
    """Workers reload within seconds and give tries half a minute to end."""
    found = _defaults(ConsumerSettings)
    assert found.pop("instance")
    assert str(found.pop("subscriptions")) == "subscriptions.yaml"

    assert found == {
        **_SHARED,
        "group": "default",
        "prune": False,
        "reload_interval": 5.0,
        "look_interval": 15.0,
        "clusters": (),
        "drain_timeout": 30.0,
        "alive_limit": 180.0,
        "history_age": 604_800,
        "heartbeat": 10,
        "allow": (),
    }


def test_every_setting_is_told() -> None:
    """A docstring with its unit stands under each field."""
    for model in (PublisherSettings, ConsumerSettings):
        assert [name for name, field in model.model_fields.items() if not field.description] == []
