"""The same news of many objects: one living message, ``n of N``, with the failures named.

The first few objects get messages of their own; from then on those that follow share one, which counts them all. It
is kept in the memory what was counted, so that another worker, or this one after a restart, goes on with it. Two
workers merge what they know, the later state of each object wins.
"""

import zlib
from collections.abc import Mapping

import msgspec

from consumers.sinks.context import Memory
from consumers.sinks.slack.api import SlackApi
from consumers.sinks.slack.blocks import flood_message
from consumers.sinks.slack.family import Family
from consumers.sinks.slack.refusal import MESSAGE_LOST, SlackRefused
from consumers.sinks.slack.settings import GroupSettings
from consumers.sinks.slack.thread import short
from consumers.sinks.slack.turn import turn

__all__ = ["Flood"]

_MOST = 1000
"""Objects in one message: its note stays below 64 KB."""
_LONGEST = 86_400.0
"""Seconds after which a message is begun anew, whatever still runs."""


class _Member(msgspec.Struct, array_like=True):
    order: str
    word: str
    name: str
    running: bool
    failed: bool
    alone: bool
    """It has a message of its own."""


class _Note(msgspec.Struct):
    opened: float
    touched: float
    part: int = 1
    """Counts the messages of this news: of two notes the later part is the one that is current."""
    ts: str | None = None
    members: dict[str, _Member] = {}


class Flood:
    """One kind of news on one cluster.

    Args:
        settings: from how many objects on.
        api: how it is said.
        memory: what was counted.
        key: of its note.
        title: the news in words.
    """

    def __init__(self, settings: GroupSettings, api: SlackApi, memory: Memory, key: str, title: str) -> None:
        self._settings = settings
        self._api = api
        self._memory = memory
        self._key = key
        self._title = title
        self._note: _Note | None = None

    async def joined(self, family: Family, now: float) -> bool:
        """Count an object's news; True when its message is this one, False when it has one of its own.

        Args:
            family: what is so now.
            now: seconds since 1970.
        """
        note = await self._current(family, now)
        member = _id(family)
        known = note.members.get(member)
        alone = known.alone if known else len(note.members) < self._settings.after
        if known is None or family.order > known.order:
            news = _Member(family.order, family.word, family.name, family.running, family.failed, alone)
            note.members[member] = news
        note.touched = max(note.touched, now)
        self._note = note
        if alone:
            await self._keep(note)
        return not alone

    async def tell(self) -> None:
        """Bring the message up to date.

        Raises:
            SlackRefused: it was not; what was counted stays counted.
        """
        async with turn(self._memory, self._key):
            note = self._note = await self._known()
            assert note is not None  # noqa: S101 - joined comes first
            await self._tell(note)

    async def _tell(self, note: _Note) -> None:
        said = self._message(note)
        if note.ts is not None:
            try:
                await self._api.update(note.ts, said)
            except SlackRefused as refused:
                if refused.word not in MESSAGE_LOST:
                    raise
                note.ts = None
        if note.ts is None:
            note.ts = await self._api.post(said)
        await self._keep(note)

    async def _current(self, family: Family, now: float) -> _Note:
        """The running note, merged with what another worker has written; a new one when it has ended."""
        note = await self._known()
        if note is None:
            return _Note(opened=now, touched=now)
        full = len(note.members) >= _MOST and _id(family) not in note.members
        return _Note(opened=now, touched=now, part=note.part + 1) if full or self._ended(note, now) else note

    async def _known(self) -> _Note | None:
        """What this worker counted and what others wrote."""
        stored = await self._memory.get(self._key)
        if stored is None:
            return self._note
        return _merged(msgspec.msgpack.decode(zlib.decompress(stored), type=_Note), self._note)

    def _ended(self, note: _Note, now: float) -> bool:
        running = any(member.running for member in note.members.values())
        silent = now - note.touched
        return now - note.opened > _LONGEST or (silent > self._settings.window and not running)

    async def _keep(self, note: _Note) -> None:
        await self._memory.put(self._key, zlib.compress(msgspec.msgpack.encode(note), 1))

    def _message(self, note: _Note) -> dict[str, object]:
        members = note.members
        threaded = any(member.running or not member.word.count(".") for member in members.values())
        done = sum(not member.running for member in members.values()) if threaded else None
        names = _names(members, threaded=threaded)
        failed = any(member.failed for member in members.values())
        return flood_message(self._title, len(members), done, names, failed=failed)


def _id(family: Family) -> str:
    return short(family.member)[:10]


def _merged(stored: _Note, own: _Note | None) -> _Note:
    if own is None or own.part != stored.part:
        return own if own is not None and own.part > stored.part else stored
    for key, member in stored.members.items():
        mine = own.members.get(key)
        if mine is None or member.order > mine.order:
            own.members[key] = member
    own.ts = stored.ts or own.ts
    own.opened, own.touched = min(stored.opened, own.opened), max(stored.touched, own.touched)
    return own


def _names(members: Mapping[str, _Member], *, threaded: bool) -> dict[str, list[str]]:
    """Names by heading: failures first, then what still runs; what is done is only counted."""
    found: dict[str, list[str]] = {}
    for member in members.values():
        if not threaded:
            found.setdefault("About", []).append(member.name)
        elif member.failed:
            found.setdefault(member.word.capitalize(), []).append(member.name)
    running = [member.name for member in members.values() if threaded and member.running and not member.failed]
    return {**{heading: sorted(names) for heading, names in sorted(found.items())}, "Under way": sorted(running)}
