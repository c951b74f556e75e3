"""The lives of single control planes, cut out of a recording with all that they own."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from kamaji_events.simulator.history import ChangeKind
from kamaji_events.simulator.template import Template, Vocabulary
from kamaji_events.simulator.timeline import Moment, Timeline
from kamaji_events.simulator.version import Object, Version

__all__ = ["Happening", "Life", "StoreState", "Use", "lives", "stores"]

_TCPS, _STORES = "tenantcontrolplanes", "datastores"
_NAME = "kamaji.clastix.io/name"
_JOB_NAME, _JOB_NAMESPACE = "tcp.kamaji.clastix.io/name", "tcp.kamaji.clastix.io/namespace"
_Place = tuple[str, str]


@dataclass(frozen=True)
class Happening:
    """One change of one object of a life."""

    at: float
    change: ChangeKind
    version: Version
    vocabulary: Vocabulary

    @property
    def resource(self) -> str:
        """Plural of the object's kind."""
        return self.version.kind.plural

    @cached_property
    def template(self) -> Template:
        """The object with holes; owned ones as metadata only, as they are recorded. Made when it is wanted."""
        whole = self.resource == _TCPS
        return self.vocabulary.template(self.version.content() if whole else orjson.loads(self.version.partial))


@dataclass(frozen=True, slots=True)
class Use:
    """The control plane enters or leaves a DataStore's ``usedBy``."""

    at: float
    store: str
    used: bool


@dataclass
class Life:
    """One control plane under one name, with everything that it owned."""

    vocabulary: Vocabulary
    baseline: list[Happening] = field(default_factory=list)
    """What was there from the start."""
    uses: set[str] = field(default_factory=set)
    """DataStores that it used from the start."""
    happenings: list[Happening | Use] = field(default_factory=list)
    """In order."""


@dataclass(frozen=True, slots=True)
class StoreState:
    """A DataStore without its users, at one moment; None when it is gone."""

    at: float
    content: Object | None


def stores(timeline: Timeline) -> dict[str, list[StoreState]]:
    """What the DataStores of a recording went through, but for who uses them; the baseline is at 0."""
    found: dict[str, list[StoreState]] = {}
    for moment in _with_baseline(timeline):
        if moment.version.kind.plural == _STORES:
            content = None if moment.change == "DELETED" else _unused(moment.version)
            seen = found.setdefault(moment.version.meta.name, [])
            if not seen or _meaning(seen[-1].content) != _meaning(content):
                seen.append(StoreState(moment.at, content))
    return found


def _with_baseline(timeline: Timeline) -> Iterator[Moment]:
    yield from (Moment(0.0, "ADDED", version) for version in timeline.baseline)
    yield from timeline.moments


def _unused(version: Version) -> Object:
    content = version.content()
    content.get("status", {}).pop("usedBy", None)
    return content


def _meaning(content: Object | None) -> Any:
    if content is None:
        return None
    silent = {"resourceVersion", "managedFields"}
    metadata = {key: value for key, value in content["metadata"].items() if key not in silent}
    return {**content, "metadata": metadata}


def lives(timeline: Timeline) -> list[Life]:
    """The lives in a recording, in the order in which they begin. What belongs to none is left out."""
    everything = list(_with_baseline(timeline))
    uids = _uids(version for version in (moment.version for moment in everything) if version.kind.plural != _STORES)
    names = sorted(stores(timeline))
    found = {place: Life(Vocabulary(place[1], place[0], sorted(owned), names)) for place, owned in uids.items()}
    used: dict[str, set[str]] = {}
    for number, moment in enumerate(everything):
        is_baseline = number < len(timeline.baseline)
        if moment.version.kind.plural == _STORES:
            _note_uses(found, used, moment, is_baseline=is_baseline)
        elif life := found.get(_place(moment.version)):
            _note(life, moment, is_baseline=is_baseline)
    return list(found.values())


def _uids(versions: Iterable[Version]) -> dict[_Place, dict[str, None]]:
    """For each control plane its uids and those of all that it owns."""
    known = list(versions)
    uids: dict[_Place, dict[str, None]] = {_place(one): {} for one in known if one.kind.plural == _TCPS}
    for version in known:
        if (place := _place(version)) in uids:
            uids[place][version.meta.uid] = None
    return uids


def _place(version: Version) -> _Place:
    """Namespace and name of the control plane that an object belongs to."""
    labels, namespace = version.labels, version.meta.namespace or ""
    if version.kind.plural == _TCPS:
        return namespace, version.meta.name
    if version.kind.plural == "jobs" and _JOB_NAME in labels:
        return labels.get(_JOB_NAMESPACE, ""), labels[_JOB_NAME]
    return namespace, labels.get(_NAME, "")


def _note(life: Life, moment: Moment, *, is_baseline: bool) -> None:
    happening = Happening(moment.at, moment.change, moment.version, life.vocabulary)
    (life.baseline if is_baseline else life.happenings).append(happening)


def _note_uses(found: dict[_Place, Life], used: dict[str, set[str]], moment: Moment, *, is_baseline: bool) -> None:
    name = moment.version.meta.name
    status = moment.version.content().get("status") or {}
    now = set() if moment.change == "DELETED" else set(status.get("usedBy") or ())
    before, used[name] = used.get(name, set()), now
    for subject in sorted(before ^ now):
        namespace, _, tcp = subject.partition("/")
        life = found.get((namespace, tcp))
        if life is None:
            continue
        if is_baseline:
            life.uses.add(name)
        else:
            life.happenings.append(Use(moment.at, name, subject in now))
