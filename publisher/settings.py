"""The publisher's settings; how they are found: ``kamaji_events.settings``."""

import socket
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from kamaji_events.duration import Duration
from kamaji_events.envelope import SCHEMA_BASE
from kamaji_events.errors import SettingsError
from kamaji_events.identity import check_cluster
from kamaji_events.settings import Settings

__all__ = ["Limits", "PublisherSettings"]


class Limits(BaseModel):
    """How long an operation may be open before ``<operation>.stalled`` is said, once."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    create: Duration = 600
    """From the first sight of an object to its first serving."""
    upgrade: Duration = 900
    """From the request to the version in status."""
    migrate: Duration = 1800
    """From the request to serving from the new DataStore; an object's own `migration-timeout` goes first."""
    scale: Duration = 600
    """From one non-zero number of replicas to another."""
    sleep: Duration = 600
    """To no replica at all."""
    wake: Duration = 600
    """From no replica to serving."""
    rotation: Duration = 600
    """From the new certificate authority to serving with it."""
    delete: Duration = 300
    """From the deletionTimestamp to nothing left."""


class PublisherSettings(Settings):
    """Settings of ``kamaji-events publisher run``."""

    cluster: str = ""
    """Required: the management cluster's name, in every routing key: 1 to 40 lower-case letters, digits and '-'."""
    instance: str = Field(default="", max_length=63, validate_default=True)
    """This replica's name in its events and metrics, unlike any other cluster's: cluster and host name by default."""
    prefix: str = Field(default="kamaji", pattern=r"^[A-Za-z0-9._-]+$")
    """First word of every exchange and queue; another one is another installation on the same vhost."""
    kubeconfig: Path | None = None
    """Kubeconfig file; without one KUBECONFIG, then the pod's service account, then ~/.kube/config."""
    context: str | None = None
    """Context of the kubeconfig; its current one by default."""
    watch_secrets: bool = False
    """Also look for leftover Secrets before delete.completed is said; needs the right to list Secrets."""
    kamaji_namespace: str = "kamaji-system"
    """Where Kamaji runs its migrate Jobs."""
    announce_existing: bool = False
    """Say state.discovered for each object that is there at the very first start."""
    annotations: tuple[str, ...] = ()
    """Annotations that events carry in data.object; none by default."""
    limits: Limits = Limits()
    """How long operations may take before they count as stalled."""
    outage_hold: Duration = 60
    """How long a control plane may be not ready before outage.started is said."""
    alive_interval: Duration = 60
    """Time between two state.alive; consumers raise an alarm when they stop."""
    compare_interval: Duration = 6 * 3600
    """Time between two full lists that repair what a watch cache lost."""
    buffer_bytes: int = Field(default=64 * 1024 * 1024, ge=1024 * 1024)
    """Watch lines held, in bytes, while the broker is away; beyond it the watches are read anew afterwards."""
    batch_changes: int = Field(default=500, ge=1, le=10_000)
    """Changes judged at most before their events are published."""
    confirm_timeout: Duration = 30
    """Time without any confirm after which a batch is published again, with the same bytes."""
    history_age: Duration = 7 * 24 * 3600
    """How long the broker keeps events in the history stream."""
    journal: bool = True
    """Keep the memory in the broker. Without it one replica may run, and a restart forgets."""
    heartbeat: int = Field(default=5, ge=1, le=60)
    """Seconds between AMQP heartbeats; a dead leader's node is noticed after two of them."""
    schema_base: str = SCHEMA_BASE
    """Prefix of each event's dataschema; an https URL where you serve the schemas."""

    @field_validator("cluster")
    @classmethod
    def _is_cluster(cls, value: str) -> str:
        try:
            return check_cluster(value)
        except SettingsError as error:
            raise ValueError(str(error)) from None

    @field_validator("instance")
    @classmethod
    def _is_instance(cls, value: str, info: ValidationInfo) -> str:
        value = value or f"{info.data.get('cluster', '')}-{socket.gethostname()}"[:63]
        if all(part.isascii() and (part.isalnum() or part in "-._") for part in value):
            return value
        raise ValueError("use letters, digits, '-', '_' and '.', at most 63 of them")
