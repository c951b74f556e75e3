"""Records what the API server says of Kamaji's objects: for bug reports, and to see which events it gives.

Kamaji's two kinds are recorded whole, owned kinds as metadata only (``PartialObjectMetadata``: the server never sends
the content of a Secret or ConfigMap), and everything passes ``publisher.redaction`` before it is written. Secrets are
not even listed unless one asks for it, as for the publisher.

A kind of which the rights are missing is left out, and said so; without Kamaji's own kinds there is nothing to record.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kamaji_events.errors import ClusterRefused, KamajiEventsError, KindMissing
from kamaji_events.groups import first_of
from kamaji_events.recording import FORMAT
from publisher.follow import Followed, follow
from publisher.observation import Resource
from publisher.recording_writer import RecordingWriter
from publisher.redaction import Redactor
from publisher.watch.ask import Target
from publisher.watch.discovery import find_target, find_targets, server_version
from publisher.watch.source import Source

__all__ = ["RecordPlan", "Recorded", "record"]

_log = logging.getLogger(__name__)

_OWNED = (
    Target("", "v1", "configmaps"),
    Target("apps", "v1", "deployments"),
    Target("", "v1", "services"),
    Target("networking.k8s.io", "v1", "ingresses"),
)
_SECRETS = Target("", "v1", "secrets")
_JOBS = Target("batch", "v1", "jobs")
_GATEWAY = "gateway.networking.k8s.io"
_ROUTES = ("httproutes", "tlsroutes", "grpcroutes")
_OWNERS_LABEL = "kamaji.clastix.io/name"
_JOBS_LABEL = "tcp.kamaji.clastix.io/name"
"""Migrate Jobs are Kamaji's own, not the control plane's: they carry another label."""


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """What to record."""

    secrets: bool = False
    """Record the metadata of owned Secrets too; needs the rights to list and watch Secrets."""
    keep_annotations: tuple[str, ...] = ()
    """Annotations whose values are kept; Kamaji's own always are."""
    kamaji: str = "unknown"
    """Release of the operator, for the header: it cannot be read from its objects."""


@dataclass(slots=True)
class Recorded:
    """What was recorded so far."""

    lines: int = 0
    relists: int = 0
    """Lists after the first one of a kind: what happened before one may be missing."""
    versions: dict[str, str] = field(default_factory=dict)
    """The resourceVersion up to which each kind is in the file."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Kinds that could not be read, with the reason."""


async def record(
    source: Source,
    path: Path,
    plan: RecordPlan | None = None,
    *,
    told: Recorded | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Record until cancelled; the file is complete up to then.

    Args:
        source: the API server.
        path: file to create; gzipped when it ends with ``.gz``.
        plan: what to record.
        told: filled in while recording, for whoever wants to tell about it.
        clock: seconds, monotonic.

    Raises:
        RecordingError: the file exists or cannot be written.
        ClusterError: Kamaji's own kinds cannot be read.
    """
    plan, told = plan or RecordPlan(), told or Recorded()
    redactor = Redactor(keep_annotations=plan.keep_annotations)
    header = await _header(source, plan)
    followed = [*await _whole(source), *await _owned(source, plan)]
    with RecordingWriter(path, clock) as writer:
        writer.write("_header", "HEADER", header)
        try:
            async with asyncio.TaskGroup() as group:
                for what in followed:
                    group.create_task(_write(source, what, writer, redactor, told), name=f"record {what.target}")
        except BaseExceptionGroup as errors:
            raise first_of(errors, KamajiEventsError) from errors


async def _header(source: Source, plan: RecordPlan) -> dict[str, str]:
    """Also the first question of all: a server that cannot be reached makes no file."""
    version = await server_version(source)
    started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"format": FORMAT, "kubernetes": version, "kamaji": plan.kamaji, "startedAt": started}


async def _whole(source: Source) -> list[Followed]:
    """Kamaji's kinds; asked for once before there is a file, since without them there will be none."""
    followed = [Followed(await find_target(source, kind.value)) for kind in Resource]
    for what in followed:
        await source.get(what.probe())
    return followed


async def _owned(source: Source, plan: RecordPlan) -> list[Followed]:
    """The kinds that the publisher looks at when a control plane is gone, and the Jobs of migrations."""
    try:
        routes = await find_targets(source, _GATEWAY, _ROUTES)
    except ClusterRefused:
        routes = []
    targets = [*_OWNED, *routes, *([_SECRETS] if plan.secrets else [])]
    followed = [Followed(target, metadata_only=True, selector=_OWNERS_LABEL) for target in targets]
    return [*followed, Followed(_JOBS, metadata_only=True, selector=_JOBS_LABEL)]


async def _write(source: Source, what: Followed, writer: RecordingWriter, redactor: Redactor, told: Recorded) -> None:
    """Write one kind's lines until cancelled, or until it turns out that an owned kind may not be read."""
    resource = what.target.resource
    try:
        async with aclosing(follow(source, what)) as lines:
            async for kind, object_ in lines:
                writer.write(resource, kind, redactor.object(object_))
                told.relists += kind == "LIST" and resource in told.versions
                told.lines = writer.lines
                told.versions[resource] = (object_.get("metadata") or {}).get("resourceVersion", "")
    except (ClusterRefused, KindMissing) as error:
        if not what.metadata_only:
            raise
        told.left_out[resource] = str(error)
        _log.warning("%s are left out of the recording: %s", resource, error)
