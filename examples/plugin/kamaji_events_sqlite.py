"""A sink that writes events into an SQLite table: an example of a plug-in."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from consumers.sinks.base import Delivered, Delivery, Failed, Outcome
from consumers.sinks.context import SinkContext
from consumers.sinks.settings import SinkSettings
from kamaji_events.event import Event

__all__ = ["SqliteSink"]

_TABLE = """
create table if not exists events (
  id text primary key, type text not null, subject text, time text, sequence text, body blob not null
) without rowid
"""


class SqliteSink:
    """Keeps every event once."""

    class Settings(SinkSettings):
        """What stands under ``sqlite:`` in a subscription."""

        path: Path
        """The database's file; it is made when it is not there."""

    def __init__(self, settings: Settings, context: SinkContext) -> None:
        self._path = settings.path
        self._name = context.subscription
        self._lock = asyncio.Lock()

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Insert the event; a copy of one that is there changes nothing."""
        async with self._lock:  # SQLite takes one writer at a time
            try:
                await asyncio.to_thread(self._insert, delivery.event)
            except sqlite3.OperationalError as error:  # locked, full, no such folder: it can pass, or be mended
                return Failed(f"{self._path}: {error}")
        return Delivered()

    def _insert(self, event: Event) -> None:
        row = (event.id, event.type, event.subject, event.attributes.get("time"), event.sequence, event.raw)
        # A connection for each insert: threads share none, and a file that was moved away is noticed.
        with closing(sqlite3.connect(self._path, timeout=5)) as database, database:
            database.execute(_TABLE)
            database.execute("insert or ignore into events values (?, ?, ?, ?, ?, ?)", row)

    async def aclose(self) -> None:
        """Nothing stays open."""
