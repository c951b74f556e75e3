"""The example plug-in: found by its entry point, passes the suite, keeps each event once."""

import sqlite3
import sys
import tomllib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from consumers.sinks import registry
from consumers.sinks.base import Delivered, Failed
from consumers.sinks.conformance import Rig, SinkConformance
from consumers.sinks.context import SinkContext
from examples.plugin.kamaji_events_sqlite import SqliteSink
from tests.support.samples import sample_delivery

_PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"


def _bodies(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as database:
        return [body for (body,) in database.execute("select body from events")]


class TestSqlite(SinkConformance):
    """As an author of a plug-in tests it."""

    folder = Path()

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @asynccontextmanager
    async def rig(self) -> AsyncIterator[Rig]:
        """A sink and its table; it fails while the folder is away."""
        away = self.folder.with_name(f"{self.folder.name}-away")
        path = self.folder / "events.db"

        async def received() -> Sequence[bytes]:
            return _bodies(path)

        def fail() -> None:
            self.folder.rename(away)

        def heal() -> None:
            away.rename(self.folder)

        sink = SqliteSink(SqliteSink.Settings(path=path), SinkContext())
        yield Rig(sink=sink, received=received, fail=fail, heal=heal)


def test_it_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What its pyproject.toml says is what an installer writes down, and what the registry finds."""
    project = tomllib.loads((_PLUGIN / "pyproject.toml").read_text())["project"]
    (group, points), *_ = project["entry-points"].items()
    info = tmp_path / "kamaji_events_sqlite-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(_PLUGIN), *sys.path])
    assert group == registry.GROUP
    assert "sqlite" in registry.names()
    sink = registry.build("sqlite", {"path": str(tmp_path / "events.db")})
    assert type(sink).__name__ == "SqliteSink"


async def test_copies_are_kept_once(tmp_path: Path) -> None:
    """Events come at least once; the table has each once, as it came."""
    sink = SqliteSink(SqliteSink.Settings(path=tmp_path / "events.db"), SinkContext())
    delivery = sample_delivery()
    for _ in range(3):
        assert await sink.deliver(delivery) == Delivered()
    assert _bodies(tmp_path / "events.db") == [delivery.event.raw]
    lost = SqliteSink(SqliteSink.Settings(path=tmp_path / "nowhere" / "events.db"), SinkContext())
    assert isinstance(await lost.deliver(delivery), Failed)
