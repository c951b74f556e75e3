"""`journal`, as a user runs it."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.command import kamaji_events
from tests.support.journal import CLUSTER, Place, batch, leading, place

pytestmark = pytest.mark.broker

__all__ = ["place"]


async def _run(place: Place, url: str, *words: str) -> "tuple[int, str, str]":
    command = ["journal", *words, "--prefix", place.layout.prefix]
    done = await asyncio.to_thread(kamaji_events, *command, env={"AMQP_URL": url})
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


async def test_the_leader_is_asked(place: Place, rabbit: str) -> None:
    """Figures for people, or one JSON object; who leads cannot be robbed."""
    async with leading(place) as term:
        await term.commit(batch(1, objects="abc"))

        code, text, _ = await _run(place, rabbit, "show", CLUSTER)
        assert code == 0
        assert "objects       3" in text
        code, text, _ = await _run(place, rabbit, "show", CLUSTER, "--json")
        assert json.loads(text)["leads"] is True


async def test_saved_forgotten_and_put_back(place: Place, rabbit: str, tmp_path: Path) -> None:
    """A way out of a journal that cannot be used, and back."""
    async with leading(place) as term:
        await term.commit(batch(1, objects="abc"))
    file = str(tmp_path / "journal")

    assert (await _run(place, rabbit, "export", CLUSTER, file))[0] == 0
    assert (await _run(place, rabbit, "export", CLUSTER, file))[0] == 2
    code, _, told = await _run(place, rabbit, "reset", CLUSTER)
    assert (code, "give --yes" in told) == (2, True)
    assert (await _run(place, rabbit, "reset", CLUSTER, "--yes"))[0] == 0
    assert (await _run(place, rabbit, "import", CLUSTER, file))[0] == 0

    async with leading(place) as term:
        assert set(term.recovered.objects) == set("abc")


async def test_no_journal_there(place: Place, rabbit: str) -> None:
    """The cluster is named."""
    code, _, told = await _run(place, rabbit, "show", "nobody")

    assert code == 1
    assert "no journal of cluster 'nobody'" in told
