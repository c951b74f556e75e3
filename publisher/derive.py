"""Offline: what would have been said of a recording.

The recording's clock is the only one, so the same recording gives the same bytes each time. Questions to the API
server are answered from the recording's owned kinds as they are at that moment.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kamaji_events.envelope import SCHEMA_BASE, Message
from kamaji_events.identity import check_cluster
from kamaji_events.owned import OWNED, OwnedView
from kamaji_events.recording import RecordedLine, read_header, read_recording
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.looks import Found, Look, LookAnswer, LookKind
from publisher.lifecycle.policy import Policy
from publisher.observation import Changed, ChangeType, Observation, Resource, SyncEnded, SyncItem, SyncStarted
from publisher.render import render
from publisher.snapshot import DATASTORE_DECODER, TCP_DECODER, UnreadableObjectError

__all__ = ["Derivation", "derive"]

_log = logging.getLogger(__name__)

_DECODERS: dict[Resource, Any] = {
    Resource.TENANTCONTROLPLANES: TCP_DECODER,
    Resource.DATASTORES: DATASTORE_DECODER,
}
_NAME = "kamaji.clastix.io/name"


def derive(
    recording: str | Path | Iterable[RecordedLine],
    *,
    policy: Policy | None = None,
    cluster: str = "recorded",
    term: int | None = None,
    schema_base: str = SCHEMA_BASE,
) -> Iterator[Message]:
    """Read a recording and make its events, in order.

    Args:
        recording: a file, plain or gzip, or its lines, the header first.
        policy: settings of the diff.
        cluster: the management cluster's name in the events.
        term: the publisher's leadership in the events.
        schema_base: where schemas are kept.

    Raises:
        RecordingError: the recording cannot be read.
        SettingsError: the cluster's name cannot be used.
    """
    check_cluster(cluster)
    derivation = Derivation(policy or Policy())
    lines = read_recording(recording) if isinstance(recording, str | Path) else recording
    for line in lines:
        for decision in derivation.take(line):
            yield render(decision, cluster=cluster, term=term, schema_base=schema_base)
    for decision in derivation.end():
        yield render(decision, cluster=cluster, term=term, schema_base=schema_base)
    if derivation.unreadable:
        _log.warning("%d lines or objects could not be read: nothing is concluded from them", derivation.unreadable)


class Derivation:
    """A fleet that follows a recording.

    Args:
        policy: settings of the diff.
    """

    def __init__(self, policy: Policy) -> None:
        self.fleet = Fleet(policy)
        self.unreadable = 0
        """Objects and lines that nothing could be concluded from."""
        self._owned = OwnedView()
        self._start: float | None = None
        self._now = 0.0

    def take(self, line: RecordedLine) -> list[Decision]:
        """Follow one line.

        Raises:
            RecordingError: the first line is no header.
        """
        if line.type == "HEADER" or self._start is None:
            self._start = self._now = read_header(line).started
            return []
        decisions = self._pass_time(self._start + line.at)
        self._owned.take(line)
        for observation in self._observations(line):
            decisions += self.fleet.observe(observation, self._now)
        return decisions + self._answer()

    def _pass_time(self, until: float) -> list[Decision]:
        """Let the clock strike whatever is due before the next line."""
        decisions: list[Decision] = []
        while (due := self.fleet.next_deadline()) is not None and due <= until:
            self._now = max(self._now, due)
            decisions += self.fleet.tick(self._now)
            decisions += self._answer()
        self._now = max(self._now, until)
        return decisions

    def _observations(self, line: RecordedLine) -> Iterator[Observation[Any]]:
        if line.resource not in _DECODERS:
            return
        resource = Resource(line.resource)
        try:
            yield from _listed(resource, line, self) if line.type == "LIST" else _changed(resource, line)
        except UnreadableObjectError:
            self.unreadable += 1

    def _answer(self) -> list[Decision]:
        decisions: list[Decision] = []
        for look in self.fleet.looks(self._now):
            decisions += self.fleet.looked(self._answered(look), self._now)
        return decisions

    def _answered(self, look: Look) -> LookAnswer:
        if look.kind is LookKind.MIGRATE_JOB:
            labels = {"tcp.kamaji.clastix.io/name": look.name, "tcp.kamaji.clastix.io/namespace": look.namespace}
            return LookAnswer(look, self._found("jobs", labels, None), ("Job",))
        resources = [resource for resource in self._owned.resources if resource != "jobs"]
        found = tuple(
            item for resource in resources for item in self._found(resource, {_NAME: look.name}, look.namespace)
        )
        return LookAnswer(look, found, tuple(OWNED[resource] for resource in resources))

    def _found(self, resource: str, labels: dict[str, str], namespace: str | None) -> tuple[Found, ...]:
        return tuple(
            Found(
                kind=OWNED[resource],
                name=item.metadata.name,
                owners=item.owners,
                deleting=item.metadata.deletionTimestamp is not None,
                finalizers=tuple(item.metadata.finalizers or ()),
            )
            for item in self._owned.labelled(resource, labels, namespace)
        )

    def end(self) -> list[Decision]:
        """The recording is over: conclude what can be concluded without another line."""
        decisions: list[Decision] = []
        for look in self.fleet.open_looks():
            decisions += self.fleet.looked(self._answered(look), self._now)
        return decisions + self.fleet.finish(self._now)


def _listed(resource: Resource, line: RecordedLine, derivation: Derivation) -> Iterator[Observation[Any]]:
    page = _DECODERS[resource].page(bytes(line.object))
    derivation.unreadable += page.broken
    yield SyncStarted(resource)
    for item in page.items:
        yield SyncItem(resource, item)
    yield SyncEnded(resource, page.resource_version)


def _changed(resource: Resource, line: RecordedLine) -> Iterator[Observation[Any]]:
    raw = b'{"type":"%s","object":%s}' % (line.type.encode(), bytes(line.object))
    change = _DECODERS[resource].line(raw)
    if change.type is not ChangeType.ERROR:
        yield Changed(resource, change)
