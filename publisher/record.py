"""Records what the API server says of Kamaji's objects: for bug reports, and to see which events it gives.

Kamaji's two kinds are recorded whole, owned kinds as metadata only (``PartialObjectMetadata``: the server never sends
the content of a Secret or ConfigMap), and everything passes ``publisher.redaction`` before it is written. Secrets are
not even listed unless one asks for it, as for the publisher.

A kind of which the rights are missing is left out, and said so; without Kamaji's own kinds there is nothing to record.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson

from kamaji_events.errors import ClusterRefused, KamajiEventsError, KindMissing
from publisher.follow import Followed, follow
from publisher.observation import Resource
from publisher.recording_writer import RecordingWriter
from publisher.redaction import Redactor
from publisher.watch.ask import Ask, Target
from publisher.watch.discovery import find_target
from publisher.watch.source import Source

__all__ = ["RecordPlan", "Recorded", "record"]

_log = logging.getLogger(__name__)

_FORMAT = "kamaji-recording/1"
_OWNED = (("", "v1", "configmaps"), ("apps", "v1", "deployments"), ("batch", "v1", "jobs"), ("", "v1", "services"))
_SECRETS = ("", "v1", "secrets")
_OWNERS_LABEL = "kamaji.clastix.io/name"


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
    followed = [*await _whole(source), *_owned(plan)]
    with RecordingWriter(path, clock) as writer:
        writer.write("_header", "HEADER", header)
        with _first_error():
            async with asyncio.TaskGroup() as group:
                for what in followed:
                    group.create_task(_write(source, what, writer, redactor, told), name=f"record {what.target}")


async def _header(source: Source, plan: RecordPlan) -> dict[str, str]:
    """Also the first question of all: a server that cannot be reached makes no file."""
    version = orjson.loads(await source.get(Ask("get", "/version")))
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"format": _FORMAT, "kubernetes": version["gitVersion"], "kamaji": plan.kamaji, "startedAt": started}


async def _whole(source: Source) -> list[Followed]:
    return [Followed(await find_target(source, kind.value)) for kind in Resource]


def _owned(plan: RecordPlan) -> list[Followed]:
    kinds = [*_OWNED, _SECRETS] if plan.secrets else _OWNED
    targets = [Target(group, version, resource) for group, version, resource in kinds]
    return [Followed(target, metadata_only=True, selector=_OWNERS_LABEL) for target in targets]


async def _write(source: Source, what: Followed, writer: RecordingWriter, redactor: Redactor, told: Recorded) -> None:
    """Write one kind's lines until cancelled, or until it turns out that an owned kind may not be read."""
    lists = 0
    try:
        async for kind, object_ in follow(source, what):
            writer.write(what.target.resource, kind, redactor.object(object_))
            lists += kind == "LIST"
            told.relists += kind == "LIST" and lists > 1
            told.lines = writer.lines
    except (ClusterRefused, KindMissing) as error:
        if not what.metadata_only:
            raise
        told.left_out[what.target.resource] = str(error)
        _log.warning("%s are left out of the recording: %s", what.target.resource, error)


@contextmanager
def _first_error() -> Iterator[None]:
    """A task group's errors come in a group; the first one says it."""
    try:
        yield
    except* KamajiEventsError as group:
        first = group.exceptions[0]
    else:
        return
    raise first
