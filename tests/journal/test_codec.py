"""Records of the journal as bytes: round trips, parts, damage, formats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kamaji_events.envelope import Message
from kamaji_events.errors import JournalDamaged, JournalError, JournalNewer
from publisher.journal.codec import FORMAT, Kind, Record, decode, encode, merge, parts
from publisher.memory import Delta

TEXT = st.text(max_size=20)
MESSAGES = st.builds(Message, TEXT, st.binary(max_size=200), TEXT, TEXT, st.integers(0, 2**40), st.none() | TEXT)
DELTAS = st.builds(
    Delta,
    messages=st.lists(MESSAGES, max_size=6).map(tuple),
    changed=st.dictionaries(TEXT, st.none() | st.binary(max_size=100), max_size=6),
    versions=st.dictionaries(TEXT, TEXT, max_size=3),
    facts=st.dictionaries(TEXT, TEXT, max_size=3),
)
BIG = st.integers(0, 2**63 - 1)
RECORDS = st.builds(Record, st.sampled_from(Kind), BIG, BIG, st.integers(0, 2**32 - 1), st.booleans(), BIG, BIG, DELTAS)


@given(record=RECORDS, deflate=st.booleans())
def test_what_is_written_is_read(record: Record, deflate: bool) -> None:  # noqa: FBT001 - drawn by name
    """Every field, deflated or not."""
    assert decode(encode(record, deflate=deflate)) == record


@given(delta=DELTAS, most=st.integers(1, 2000))
def test_parts_join_to_the_whole(delta: Delta, most: int) -> None:
    """In order, nothing twice, at least one."""
    cut = list(parts(delta, most=most))
    assert cut
    assert merge(cut) == delta


def test_parts_stay_small() -> None:
    """No part passes the bound by more than one item."""
    delta = Delta(
        messages=tuple(Message("k", bytes(1000), str(n), "t", 0) for n in range(1000)),
        changed={str(n): bytes(1000) for n in range(1000)},
    )
    sizes = [len(encode(Record(Kind.DELTA, payload=part))) for part in parts(delta, most=100_000)]
    assert len(sizes) > 15
    assert max(sizes) < 110_000


@given(record=RECORDS, place=st.integers(0), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed(record: Record, place: int, flip: int) -> None:
    """Wherever it is; never as another record, never as another kind of error."""
    data = bytearray(encode(record))
    data[place % len(data)] ^= flip
    with pytest.raises(JournalError):
        decode(bytes(data))


@given(record=RECORDS, length=st.integers(0))
def test_a_truncated_record_is_noticed(record: Record, length: int) -> None:
    """However little is missing."""
    data = encode(record)
    with pytest.raises(JournalDamaged, match="journal export"):
        decode(data[: length % len(data)])


@given(data=st.binary(max_size=300))
def test_any_bytes_are_told_apart(data: bytes) -> None:
    """Garbage is damage, not a crash."""
    with pytest.raises(JournalError):
        decode(data)


def test_a_newer_format_says_what_to_do() -> None:
    """Nothing of it is interpreted, not even its checksum."""
    data = bytearray(encode(Record(Kind.DELTA)))
    data[4] = FORMAT + 1
    with pytest.raises(JournalNewer, match=r"format 2.*run the newer release.*journal reset"):
        decode(bytes(data))


def test_what_the_first_release_wrote_stays_readable() -> None:
    """Bytes kept from the first release: payloads may grow, these stay good."""
    message = Message("k", b"b", "i", "t", 5, "c")
    delta = Delta((message,), {"x": b"1", "y": None}, {"v": "9"}, {"epoch": "1"})
    assert decode(FIRST_FORMAT) == Record(Kind.DELTA, 3, 7, 0, True, 1764590000000, 99, delta)  # noqa: FBT003


FIRST_FORMAT = bytes.fromhex(
    "4b45564a0103010000000000000000030000000000000007000000000000019ad9c2978000000000000000635f1a381e"
    "84a86d657373616765739186ab726f7574696e675f6b6579a16ba4626f6479c40162a26964a169a474797065a174a773"
    "65636f6e647305ae636f7272656c6174696f6e5f6964a163a76368616e67656482a178c40131a179c0a876657273696f"
    "6e7381a176a139a5666163747381a565706f6368a131"
)
