"""The journal's bytes are a promise to releases to come: numbers, flags, sizes."""

import struct
import zlib

import pytest

from kamaji_events.envelope import Message
from kamaji_events.errors import JournalDamaged
from publisher.journal.codec import PART_BYTES, Kind, Record, decode, encode, merge, parts
from publisher.memory import Delta
from tests.journal.test_codec import FIRST_FORMAT

_FLAGS = 6


def _payload(length: int) -> Delta:
    """One whose encoding is so long and deflates well."""
    delta = Delta(changed={"x": bytes(length)})
    return Delta(changed={"x": bytes(2 * length + 48 - len(encode(Record(Kind.BASE, payload=delta))))})


def _sealed(flags: int, payload: bytes, kind: int = Kind.DELTA) -> bytes:
    head = struct.pack(">4sBBBBQQIQQ", b"KEVJ", 1, kind, flags, 0, 1, 2, 3, 4, 5)
    return head + struct.pack(">I", zlib.crc32(payload, zlib.crc32(head))) + payload


def test_a_record_is_written_as_the_first_release_wrote_it() -> None:
    """Byte for byte, so that a former release reads it too."""
    assert encode(decode(FIRST_FORMAT)) == FIRST_FORMAT


def test_kinds_keep_their_numbers() -> None:
    """They stand in queues that outlive a release."""
    assert {kind.name: kind.value for kind in Kind} == {
        "MARKER": 0,
        "TERM": 1,
        "BASE": 2,
        "DELTA": 3,
        "DONE": 4,
        "QUESTION": 5,
    }


def test_a_record_is_whole_and_empty_unless_it_is_said() -> None:
    """A marker needs no more than its kind; no payload takes no bytes."""
    assert Record(Kind.MARKER) == Record(Kind.MARKER, 0, 0, 0, True, 0, 0, Delta())  # noqa: FBT003 - the last part
    assert len(encode(Record(Kind.MARKER))) == 48


@pytest.mark.parametrize(("length", "asked", "flags"), [(1023, True, 1), (1024, True, 3), (1024, False, 1)])
def test_a_payload_is_deflated_when_it_is_asked_for_and_worth_it(length: int, flags: int, *, asked: bool) -> None:
    """From 1 KB on; it is written at the quickest level and read back the same."""
    record = Record(Kind.BASE, payload=_payload(length))
    plain = encode(record)
    data = encode(record, deflate=asked)
    assert len(plain) == 48 + length
    assert (data[_FLAGS], decode(data)) == (flags, record)
    assert data[48:] == (zlib.compress(plain[48:], 1) if flags & 2 else plain[48:])
    assert encode(record) == plain


@pytest.mark.parametrize(
    ("flags", "payload", "kind"),
    [(3, b"not deflated", Kind.DELTA), (1, b"\xc1", Kind.DELTA), (1, b"", 77)],
)
def test_a_sealed_record_that_cannot_be_read_is_damaged(flags: int, payload: bytes, kind: int) -> None:
    """Its checksum is right and its content is not."""
    with pytest.raises(JournalDamaged, match=r"term 1, batch 2, part 3 cannot be read"):
        decode(_sealed(flags, payload, kind))


def test_another_magic_is_no_record() -> None:
    """However right its checksum."""
    data = bytearray(_sealed(1, b""))
    data[:4] = b"KEVX"
    data[44:48] = struct.pack(">I", zlib.crc32(bytes(data[:44])))
    with pytest.raises(JournalDamaged, match="no record"):
        decode(bytes(data))


def test_parts_are_closed_when_they_are_full() -> None:
    """A message counts 256 bytes more than its body and key, a memory 16: at the bound, not past it."""
    messages = tuple(Message("key", bytes(41), str(number), "t", 0) for number in range(4))
    assert [len(cut.messages) for cut in parts(Delta(messages=messages), most=300)] == [1, 1, 1, 1, 0]
    assert [len(cut.messages) for cut in parts(Delta(messages=messages), most=301)] == [2, 2, 0]
    assert [len(cut.messages) for cut in parts(Delta(messages=messages), most=600)] == [2, 2, 0]
    changed = {f"key{number}": bytes(80) for number in range(4)}
    assert [len(cut.changed) for cut in parts(Delta(changed=changed), most=100)] == [1, 1, 1, 1, 0]
    assert [len(cut.changed) for cut in parts(Delta(changed=changed), most=200)] == [2, 2, 0]
    assert [len(cut.changed) for cut in parts(Delta(changed=changed), most=201)] == [3, 1]
    gone: dict[str, bytes | None] = dict.fromkeys(("a", "b", "c"))
    assert [len(cut.changed) for cut in parts(Delta(changed=gone), most=34)] == [2, 1]


def test_messages_and_memories_share_a_part() -> None:
    """Nothing is left behind at the border between them."""
    delta = Delta((Message("k", b"b", "i", "t", 0),), {"x": bytes(100), "y": None}, {"v": "1"}, {"f": "2"})
    cut = list(parts(delta, most=300))
    assert [(len(part.messages), len(part.changed)) for part in cut] == [(1, 1), (0, 1)]
    assert all(isinstance(part.messages, tuple) for part in cut)
    assert merge(cut) == delta


def test_a_message_of_the_journal_stays_under_a_megabyte() -> None:
    """What RabbitMQ's operators expect of a message."""
    assert PART_BYTES == 768 * 1024
