"""The journal for people: shown, saved, put back, begun anew."""

import io

import pytest

from kamaji_events.broker.wire import Outgoing
from kamaji_events.errors import BrokerUnavailable, InputError, JournalDamaged, JournalError, TopologyMissing
from publisher.journal.tools import export_journal, import_journal, reset_journal, show_journal
from tests.support.journal import CLUSTER, Place, batch, leading, place

pytestmark = pytest.mark.broker

__all__ = ["place"]


async def test_the_leader_answers(place: Place) -> None:
    """Asked while somebody leads: its own figures, and it goes on leading."""
    async with leading(place) as term:
        await term.commit(batch(1, objects="abc"))
        shown = await show_journal(place.broker, place.layout, CLUSTER)
        assert (shown["leads"], shown["term"], shown["number"], shown["objects"]) == (True, 1, 1, 3)
        assert (shown["versions"], shown["unfinished"]) == ({"tcp": "1"}, False)
        await term.commit(batch(2))


async def test_without_a_leader_the_journal_itself_is_read(place: Place) -> None:
    """The token is taken for a moment; nothing is changed."""
    async with leading(place) as term:
        await term.commit(batch(1, objects="abc"))
    shown = await show_journal(place.broker, place.layout, CLUSTER, wait=0.2)
    assert (shown["leads"], shown["number"], shown["objects"], shown["gap"]) == (False, 1, 3, None)
    async with leading(place) as term:
        assert (term.recovered.term, term.next) == (2, 2)


async def test_nothing_takes_the_token_from_a_leader(place: Place) -> None:
    """Export, import and reset say that somebody leads."""
    async with leading(place) as term:
        await term.commit(batch(1))
        for attempt in (
            export_journal(place.broker, place.layout, CLUSTER, io.BytesIO(), wait=0.1),
            reset_journal(place.broker, place.layout, CLUSTER, wait=0.1),
        ):
            with pytest.raises(BrokerUnavailable, match="stop its replicas first"):
                await attempt
        await term.commit(batch(2))


async def test_saved_and_put_back(place: Place) -> None:
    """After export, reset and import the next leader remembers as before; an import needs an empty journal."""
    async with leading(place) as term:
        await term.commit(batch(1, objects="abc"))
        await term.commit(batch(2))
    file = io.BytesIO()
    saved = await export_journal(place.broker, place.layout, CLUSTER, file)
    file.seek(0)
    with pytest.raises(InputError, match="reset"):
        await import_journal(place.broker, place.layout, CLUSTER, file)
    assert await reset_journal(place.broker, place.layout, CLUSTER) == saved
    file.seek(0)
    assert await import_journal(place.broker, place.layout, CLUSTER, file) == saved
    async with leading(place) as term:
        assert (term.recovered.term, term.next, term.recovered.lost) == (2, 3, None)
        assert dict(term.recovered.objects) == {"a": b"2", "b": b"1", "c": b"1"}


async def test_a_damaged_journal_can_be_saved_and_begun_anew(place: Place) -> None:
    """What cannot be read is saved as it is; after a reset it is lost memory, loudly."""
    async with leading(place) as term:
        await term.commit(batch(1))
    async with place.broker.publisher() as publisher:
        await publisher.publish(Outgoing(b"garbage", place.layout.journal(CLUSTER)), exchange="")
    with pytest.raises(JournalError):
        async with leading(place):
            pass
    file = io.BytesIO()
    await export_journal(place.broker, place.layout, CLUSTER, file)
    assert b"garbage" in file.getvalue()
    await reset_journal(place.broker, place.layout, CLUSTER)
    async with leading(place) as term:
        assert "empty" in str(term.recovered.lost)


async def test_a_broken_file_writes_nothing(place: Place) -> None:
    """Not an export, cut short, or with a damaged record."""
    async with leading(place) as term:
        await term.commit(batch(1))
    file = io.BytesIO()
    await export_journal(place.broker, place.layout, CLUSTER, file)
    await reset_journal(place.broker, place.layout, CLUSTER)
    whole = file.getvalue()
    for content, error in ((b"nonsense", InputError), (whole[:-1], JournalDamaged), (whole[:-1] + b"?", JournalError)):
        with pytest.raises(error):
            await import_journal(place.broker, place.layout, CLUSTER, io.BytesIO(content))
    assert (await show_journal(place.broker, place.layout, CLUSTER, wait=0.2))["messages"] == 0


async def test_a_cluster_without_a_journal_is_named(place: Place) -> None:
    """A typing mistake creates nothing."""
    with pytest.raises(TopologyMissing, match="'elsewhere'"):
        await show_journal(place.broker, place.layout, "elsewhere")
