"""The CloudEvents HTTP binding: an event as body and headers.

Source: CloudEvents 1.0.2, HTTP protocol binding 3.1 (binary), 3.2 (structured), 3.3 (batched). Bodies are the bytes
of the queue, or a slice of them: nothing is serialised again.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from kamaji_events.envelope import CONTENT_TYPE
from kamaji_events.event import Event

__all__ = ["Unfit", "batched", "binary", "structured"]

_BATCH = "application/cloudevents-batch+json"
_HEADER_SAFE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')
"""3.1.3.2: printable ASCII stays, but for space, quotation mark and percent."""

Message = tuple[list[tuple[str, str]], bytes]
"""Headers that say what the body is, and the body."""


class Unfit(ValueError):  # noqa: N818 - says what the event is
    """An event that cannot be put into the shape that is asked for."""


class _Data(msgspec.Struct):
    data: msgspec.Raw = msgspec.Raw()
    data_base64: str | None = None


_DATA = msgspec.json.Decoder(_Data)


def structured(event: Event) -> Message:
    """All of the event in the body: its own bytes."""
    return [("content-type", f"{CONTENT_TYPE}; charset=utf-8")], event.raw


def batched(events: Sequence[Event]) -> Message:
    """Several events as one JSON array, each with its own bytes."""
    return [("content-type", f"{_BATCH}; charset=utf-8")], b"[%b]" % b",".join(event.raw for event in events)


def binary(event: Event) -> Message:
    """Attributes as ``ce-`` headers, ``data``'s own bytes as the body.

    Raises:
        Unfit: ``data_base64`` is no base64.
    """
    media = event.attributes.get("datacontenttype")
    headers = [
        (f"ce-{name}", _header(value))
        for name, value in event.attributes.items()
        if name not in ("datacontenttype", "data_base64") and value is not None
    ]
    body = _body(event, is_json=not isinstance(media, str) or _is_json(media))
    if body:
        headers.append(("content-type", media if isinstance(media, str) else "application/json"))
    return headers, body


def _is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json"))


def _body(event: Event, *, is_json: bool) -> bytes:
    try:
        found = _DATA.decode(event.raw)
        if found.data_base64 is not None:
            return base64.b64decode(found.data_base64, validate=True)
        raw = bytes(found.data)
        # Text of another media type is a JSON string in structured mode and itself in binary mode.
        if not is_json and raw.startswith(b'"'):
            return msgspec.json.decode(raw, type=str).encode()
    except (msgspec.DecodeError, binascii.Error) as error:
        raise Unfit(f"data cannot be taken out of the event: {error}") from error
    return raw


def _header(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(str(value), safe=_HEADER_SAFE)
