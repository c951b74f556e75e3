"""What really happened in a simulated cluster, and where watches began: the ground that the oracle stands on."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import orjson
from aiohttp import web

from kamaji_events.event import Event
from kamaji_events.recording import RecordedLine
from kamaji_events.simulator import Simulator, Store
from kamaji_events.simulator.asked import Asked
from kamaji_events.simulator.history import Past
from kamaji_events.simulator.kinds import KINDS
from kamaji_events.simulator.version import Version
from publisher.derive import derive
from tests.support.installation import CLUSTER, unclocked

__all__ = ["WATCHED", "Chronicle", "Listening", "Watched"]

WATCHED = ("tenantcontrolplanes", "datastores")
_STARTED = "2026-12-01T14:00:00+00:00"
_HEADER = {"format": "kamaji-recording/1", "startedAt": _STARTED}


@dataclass(frozen=True)
class Watched:
    """A watch that was asked for."""

    resource: str
    version: int
    """From which resourceVersion on; 0 for a streaming list."""
    present: int
    """The server's own at that moment."""


class Listening(Simulator):
    """A simulator that remembers which watches were asked for."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, bookmark_seconds=0.5)
        self.asked_for: list[Watched] = []

    async def _watch(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        number = int(request.query.get("resourceVersion") or 0)
        self.asked_for.append(Watched(asked.kind.plural, number, self.store.version))
        return await super()._watch(request, asked)


@dataclass
class Cut:
    """Nobody watched, and the server forgot: then each kind was listed."""

    seen: dict[str, int]
    """For each kind the resourceVersion up to which somebody had judged and remembered."""
    listed: int
    """The resourceVersion of the lists."""


@dataclass
class Chronicle:
    """Every change of every kind, in order, and the cuts in what a publisher can have seen of them."""

    changes: list[Past] = field(default_factory=list)
    baseline: list[RecordedLine] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)

    def begin(self, store: Store) -> None:
        """The first lists are of now: what they hold was always there."""
        self.changes.clear()
        header = RecordedLine(0.0, "_header", "HEADER", msgspec.Raw(orjson.dumps(_HEADER)))
        state = {kind.plural: dict(store.state(kind.plural)) for kind in KINDS}
        lists = [_list(plural, held, store.version, 0.0) for plural, held in state.items() if plural != "namespaces"]
        self.baseline = [header, *lists]
        self._start = {plural: dict(state[plural]) for plural in WATCHED}

    def lines(self) -> Iterator[RecordedLine]:
        """As a recording of what was seen."""
        yield from self.baseline
        state = {plural: dict(held) for plural, held in self._start.items()}
        cuts = iter([*self.cuts, None])
        cut = next(cuts)
        for at, change in enumerate(self.changes):
            while cut is not None and change.number > cut.listed:
                yield from (_list(plural, state[plural], cut.listed, at / 1000) for plural in WATCHED)
                cut = next(cuts)
            plural = change.version.kind.plural
            if plural in state:
                _learn(state[plural], change)
            if cut is None or change.number <= cut.seen.get(plural, change.number):
                yield RecordedLine(at / 1000, plural, change.kind, msgspec.Raw(change.version.raw))
        while cut is not None:
            yield from (_list(plural, state[plural], cut.listed, len(self.changes) / 1000) for plural in WATCHED)
            cut = next(cuts)

    def expected(self) -> dict[str, Event]:
        """What must be told of it, by id."""
        messages = derive(self.lines(), policy=unclocked(), cluster=CLUSTER)
        return {message.id: Event.from_bytes(message.body) for message in messages}


def _learn(held: dict[str, Version], change: Past) -> None:
    if change.kind == "DELETED":
        held.pop(change.version.key, None)
    else:
        held[change.version.key] = change.version


def _list(plural: str, held: dict[str, Version], number: int, at: float) -> RecordedLine:
    items = b",".join(version.raw for _, version in sorted(held.items()))
    content = b'{"metadata":{"resourceVersion":"%d"},"items":[%b]}' % (number, items)
    return RecordedLine(at, plural, "LIST", msgspec.Raw(content))
