"""Leading, dying and taking over on a real broker."""

import asyncio
from collections.abc import Iterable

import pytest

from kamaji_events.broker import declare
from kamaji_events.broker.channel import Channel
from kamaji_events.broker.connection import connect
from kamaji_events.broker.consume import Consumer
from kamaji_events.broker.topology import Queue, Topology
from kamaji_events.broker.wire import Outgoing
from kamaji_events.envelope import Message
from kamaji_events.errors import BrokerError, BrokerUnavailable, JournalDamaged, JournalNewer
from publisher.journal.codec import FORMAT, Kind, Record, encode
from publisher.journal.journal import Journal
from publisher.journal.policy import JournalPolicy
from publisher.journal.token import Token
from publisher.memory import Delta
from tests.support.events import event_message
from tests.support.journal import CLUSTER, Place, arrival, batch, killed, leading, only_remember, place

pytestmark = pytest.mark.broker

__all__ = ["place"]


async def test_the_very_first_start(place: Place) -> None:
    """Nothing is remembered, nothing is lost; the first batch is published."""
    async with leading(place) as term:
        assert (term.recovered.term, term.recovered.first, term.recovered.lost, term.next) == (1, True, None, 1)
        await term.commit(batch(1))
    assert await place.told() == ["1.0"]


async def test_a_restart_remembers_and_repeats_nothing(place: Place) -> None:
    """After a graceful stop another process finds everything, and says nothing again."""
    async with leading(place) as term:
        await term.commit(batch(1, objects="abc"))
        await term.commit(Delta(changed={"b": None}, versions={"tcp": "2"}))
    async with leading(place) as term:
        found = term.recovered
        assert (found.term, found.first, found.own, term.next) == (2, False, None, 3)
        assert dict(found.objects) == {"a": b"1", "c": b"1"}
        assert (found.versions, found.facts) == ({"tcp": "2"}, {"epoch": "1"})
        assert found.unwatched_since is not None
    assert await place.told() == ["1.0"]


async def test_an_unfinished_batch_goes_out_again_with_the_same_bytes(place: Place) -> None:
    """A leader that died between its delta and its events: the next one publishes them."""
    async with killed(place) as term:
        await term.commit(batch(1))
        await only_remember(term, batch(2, events=3))
    async with leading(place) as term:
        assert (term.recovered.term, term.next) == (2, 3)
        assert dict(term.recovered.objects) == {"a": b"2"}
    assert await place.told() == ["1.0", "2.0", "2.1", "2.2"]
    async with leading(place) as term:
        assert term.next == 3
    assert await place.told() == []


async def test_the_same_process_goes_on_in_the_same_term(place: Place) -> None:
    """After a lost connection the process that wrote last keeps its term and knows its last batch."""
    journal = place.journal()
    async with killed(place, journal) as term:
        await term.commit(batch(1))
    async with leading(place, journal) as term:
        assert (term.recovered.term, term.recovered.own, term.next) == (1, 1, 2)
        await term.commit(batch(2))
    async with leading(place) as other:
        assert (other.recovered.term, other.recovered.own) == (2, None)
    async with leading(place, journal) as term:
        assert (term.recovered.term, term.recovered.own) == (3, None)


async def test_a_standby_waits_and_takes_over_when_the_leader_is_cut_off(place: Place) -> None:
    """One leads; the other is given the token the moment the first one's connection ends."""

    async def stand_by() -> int:
        async with leading(place) as second:
            leads.set()
            await second.commit(batch(3))
            return second.recovered.term

    leads = asyncio.Event()
    async with killed(place) as term:
        await term.commit(batch(1))
        standby = asyncio.ensure_future(stand_by())
        await asyncio.wait([standby], timeout=0.3)
        assert not leads.is_set()
        await term.commit(batch(2, objects="b"))
        await term.note_done()
    assert await standby == 2
    with pytest.raises(BrokerError):
        await term.commit(batch(4))
    assert await place.told() == ["1.0", "2.0", "3.0"]


async def test_a_base_replaces_what_is_older(place: Place) -> None:
    """After many batches the journal is small, and nothing of them is missing."""
    journal = place.journal(JournalPolicy(timeout=5, patience=0, settle=0, most_messages=10))
    async with leading(place, journal) as term:
        for number in range(1, 51):
            await term.commit(batch(number, objects=(str(number),), events=0))
            assert term._token.held <= 12
    async with leading(place) as term:
        assert {int(key) for key in term.recovered.objects} == set(range(1, 51))
        assert (term.recovered.term, term.next, term.recovered.versions) == (2, 51, {"tcp": "50"})
    assert await declare.message_count(place.broker, place.layout.journal(CLUSTER)) <= 14


async def test_a_large_memory_is_cut_into_parts(place: Place) -> None:
    """Batches and bases of several megabytes pass, each message small."""
    journal = place.journal(JournalPolicy(timeout=20, patience=0, settle=0, most_messages=5))
    big = {f"tcp-{n}": bytes([n % 256]) * 2000 for n in range(2000)}
    async with leading(place, journal) as term:
        await term.commit(Delta(messages=tuple(numbered(1500)), changed=big))
        await term.commit(batch(2))
    async with leading(place) as term:
        assert dict(term.recovered.objects) == big | {"a": b"2"}
    assert len(await place.told()) == 1501


def numbered(count: int) -> Iterable[Message]:
    """So many events."""
    return (event_message(f"n-{number}") for number in range(count))


async def test_what_is_held_is_renewed_before_the_broker_loses_patience(place: Place) -> None:
    """Nothing stays unacknowledged for longer than the policy says."""
    journal = place.journal(JournalPolicy(timeout=5, patience=0, settle=0, renew=0.05))
    async with leading(place, journal) as term:
        renewed = arrival(term, Kind.BASE)
        await term.commit(batch(1))
        await renewed.wait()
        await term.commit(batch(2))
        assert term._token._held[0] > 3
    async with leading(place) as term:
        assert (dict(term.recovered.objects), term.next) == ({"a": b"2"}, 3)


async def test_a_quiet_journal_notes_that_its_last_batch_is_out(place: Place) -> None:
    """With nothing following, a small record ends the doubt even if the leader is killed later."""
    journal = place.journal(JournalPolicy(timeout=5, patience=0, settle=0, idle=0.01))
    async with killed(place, journal) as term:
        noted = arrival(term, Kind.DONE)
        await term.commit(batch(1))
        await noted.wait()
    async with leading(place):
        pass
    assert await place.told() == ["1.0"]


async def test_a_late_batch_of_a_former_leader_is_let_go(place: Place) -> None:
    """It was never acted on: neither the leader nor the next one counts it."""
    async with leading(place) as term:
        await term.commit(batch(1))
    async with leading(place) as term:
        async with place.broker.publisher() as publisher:
            late = Record(Kind.DELTA, 1, 2, writer=1, payload=batch(99))
            await publisher.publish(journal_message(place, encode(late)), exchange="")
        arrived = arrival(term, Kind.DELTA)
        await term.commit(batch(2))
        await arrived.wait()
        assert term._token.held == 5  # terms 1 and 2, batches 1 and 2, the end of batch 1
    async with leading(place) as term:
        assert (dict(term.recovered.objects), term.next) == ({"a": b"2"}, 3)
    assert await place.told() == ["1.0", "2.0"]


def journal_message(place: Place, body: bytes) -> Outgoing:
    """Bytes for the journal's queue."""
    return Outgoing(body, place.layout.journal(CLUSTER))


async def test_memory_held_by_a_former_leaders_channel_is_waited_for(place: Place) -> None:
    """The token can come while the former leader still holds the journal: read again, do not begin anew."""
    async with leading(place) as term:
        await term.commit(batch(1))
    queue = place.layout.journal(CLUSTER)
    async with connect(place.url, name="former") as former:
        async with former.channel() as channel:
            await hold_without_consuming(channel, queue)
            journal = place.journal(JournalPolicy(timeout=5, patience=60, settle=0))
            following = asyncio.ensure_future(first_recovered(place, journal))
            await asyncio.wait([following], timeout=1.5)
            assert not following.done()
        assert await following == (2, {"a": b"1"})


async def hold_without_consuming(channel: Channel, queue: str) -> None:
    """Take everything from the queue and cancel the consumer, holding it all."""
    async with Consumer(channel, queue, prefetch=1000) as consumer:
        await anext(consumer)


async def first_recovered(place: Place, journal: Journal) -> tuple[int, dict[str, bytes]]:
    """Lead once and say what was found."""
    async with leading(place, journal) as term:
        return term.recovered.term, dict(term.recovered.objects)


async def test_an_empty_journal_beside_a_history_is_lost_memory(place: Place) -> None:
    """Somebody deleted the queue: a later term than any before, the epoch that was, and a reason."""
    async with leading(place) as term:
        await term.commit(batch(1))
    await declare.delete(place.broker, Topology(queues=(Queue(place.layout.journal(CLUSTER)),)))
    async with leading(place) as term:
        found = term.recovered
        assert (found.term, found.first, found.facts, term.next) == (2, False, {"epoch": "1"}, 1)
        assert "1 events" in str(found.lost)
    async with leading(place) as term:
        assert term.recovered.lost is not None
        await term.commit(Delta(facts={"epoch": "2"}))
    async with leading(place) as term:
        assert (term.recovered.lost, term.recovered.facts, term.recovered.term) == (None, {"epoch": "2"}, 4)


async def test_a_gap_that_stays_is_damage(place: Place) -> None:
    """Nothing is guessed; the way out is named."""
    async with place.broker.publisher() as publisher:
        for number in (1, 3):
            await publisher.publish(journal_message(place, encode(Record(Kind.DELTA, 1, number))), exchange="")
    with pytest.raises(JournalDamaged, match=r"batches 2 to 2.*journal reset"):
        async with leading(place):
            pass


async def test_a_newer_journal_stops_and_touches_nothing(place: Place) -> None:
    """An older release neither reads nor acknowledges it."""
    newer = bytearray(encode(Record(Kind.DELTA, 1, 1)))
    newer[4] = FORMAT + 1
    async with place.broker.publisher() as publisher:
        await publisher.publish(journal_message(place, bytes(newer)), exchange="")
    with pytest.raises(JournalNewer):
        async with leading(place):
            pass
    async with Token(place.broker, place.layout.journal(CLUSTER), timeout=5) as token:
        with pytest.raises(JournalNewer):
            await token.read()


async def test_a_queue_deleted_underneath_ends_the_leadership(place: Place) -> None:
    """The broker's cancel on an open channel: nothing can be published any more on it."""
    async with leading(place) as term:
        await term.commit(batch(1))
        await declare.delete(place.broker, Topology(queues=(Queue(place.layout.journal(CLUSTER)),)))
        with pytest.raises(BrokerUnavailable, match="deleted"):
            await term.keep()
        with pytest.raises(BrokerError):
            await term.commit(batch(2))
    assert await place.told() == ["1.0"]


async def test_a_cancelled_commit_leaves_nothing_half_done(place: Place) -> None:
    """Stopped in the middle of a batch: the next leader finishes it, whole."""
    async with leading(place) as term:
        await term.commit(batch(1))
        committing = asyncio.ensure_future(term.commit(batch(2, events=50)))
        await asyncio.sleep(0)
        committing.cancel()
        await asyncio.gather(committing, return_exceptions=True)
    async with leading(place) as term:
        assert term.next in (2, 3)
        number = term.next - 1
    told = await place.told()
    assert told[0] == "1.0"
    assert set(told[1:]) == ({f"2.{event}" for event in range(50)} if number == 2 else set())


async def test_a_stop_between_a_batch_and_its_events_does_not_call_it_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving gracefully notes the end of a batch only when its events are confirmed."""
    async with leading(place) as term:
        stuck = asyncio.Event()

        async def publish_never(_: object) -> None:
            stuck.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(term, "_publish", publish_never)
        committing = asyncio.ensure_future(term.commit(batch(1)))
        await stuck.wait()
        committing.cancel()
        await asyncio.gather(committing, return_exceptions=True)
    assert await place.told() == []
    async with leading(place):
        pass
    assert await place.told() == ["1.0"]
