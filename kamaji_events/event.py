"""An event as a subscriber sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import orjson

from kamaji_events.catalogue import TYPE_PREFIX
from kamaji_events.errors import EnvelopeError

if TYPE_CHECKING:
    from cloudevents.core.v1.event import CloudEvent

__all__ = ["Event"]

_REQUIRED = ("specversion", "id", "source", "type")


@dataclass(frozen=True, slots=True)
class Event:
    """One event, read from its bytes.

    Equal bytes are equal events. Unknown attributes and members of ``data`` are kept: schemas grow, additively.
    """

    raw: bytes
    """The bytes from the exchange: pass these on, never a new serialisation."""
    attributes: Mapping[str, Any] = field(repr=False, compare=False)
    """Every CloudEvents attribute, extensions included, without ``data``."""
    data: Mapping[str, Any] = field(repr=False, compare=False)
    """The payload, see the event reference."""

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Event":
        """Read structured-mode JSON.

        Raises:
            EnvelopeError: the bytes are no CloudEvent 1.0 of this contract; the text says what is missing.
        """
        try:
            attributes = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise EnvelopeError(f"not JSON: {error}") from error
        if not isinstance(attributes, dict):
            raise EnvelopeError(f"a CloudEvent is a JSON object, this is {type(attributes).__name__}")
        for name in _REQUIRED:
            if not isinstance(attributes.get(name), str) or not attributes[name]:
                raise EnvelopeError(f"attribute {name!r} is missing or not a string")
        if attributes["specversion"] != "1.0":
            raise EnvelopeError(f"specversion {attributes['specversion']!r} is not 1.0")
        data = attributes.pop("data", None)
        return cls(raw=raw, attributes=attributes, data=data if isinstance(data, dict) else {})

    def _text(self, name: str) -> str | None:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else None

    @property
    def id(self) -> str:
        """The same for every copy of the event, for ever: de-duplicate by it."""
        return str(self.attributes["id"])

    @property
    def type(self) -> str:
        """``io.clastix.kamaji.<kind>.<two words>``."""
        return str(self.attributes["type"])

    @property
    def source(self) -> str:
        """``/kamaji/<cluster>``."""
        return str(self.attributes["source"])

    @property
    def kind(self) -> str:
        """``tenantcontrolplane``, ``datastore``, ``publisher`` or ``subscription``; empty for a foreign event."""
        return self._tail()[0]

    @property
    def name(self) -> str:
        """The event in two words, such as ``upgrade.completed``."""
        return self._tail()[1]

    def _tail(self) -> tuple[str, str]:
        prefix = f"{TYPE_PREFIX}."
        if not self.type.startswith(prefix):
            return "", self.type
        kind, _, name = self.type[len(prefix) :].partition(".")
        return kind, name

    @property
    def subject(self) -> str | None:
        """``namespace/name``, or the name of what has no namespace."""
        return self._text("subject")

    @property
    def time(self) -> datetime | None:
        """When it happened, with its time zone; None when the attribute is absent or malformed."""
        text = self._text("time")
        try:
            return datetime.fromisoformat(text) if text else None
        except ValueError:
            return None

    @property
    def sequence(self) -> str | None:
        """Per object, ordered as strings."""
        return self._text("sequence")

    @property
    def partitionkey(self) -> str | None:
        """The object's uid: one object's events share it."""
        return self._text("partitionkey")

    @property
    def operationid(self) -> str | None:
        """Shared by all events of one operation."""
        return self._text("operationid")

    @property
    def cluster(self) -> str | None:
        """The management cluster."""
        return self._text("kamajicluster")

    @property
    def namespace(self) -> str | None:
        """The object's namespace."""
        return self._text("kamajinamespace")

    @property
    def object_name(self) -> str | None:
        """The object's name."""
        return self._text("kamajiname")

    @property
    def term(self) -> int | None:
        """The publisher's leadership in which it was decided."""
        value = self.attributes.get("kamajiterm")
        return value if isinstance(value, int) else None

    @property
    def labels(self) -> Mapping[str, str]:
        """The object's labels at that time."""
        found = self.data.get("object")
        labels = found.get("labels") if isinstance(found, dict) else None
        return labels if isinstance(labels, dict) else {}

    @property
    def severity(self) -> str:
        """``info``, ``notice``, ``warning`` or ``critical``."""
        return str(self.data.get("severity", "info"))

    def to_cloudevent(self) -> "CloudEvent":
        """The event as the cloudevents package's own class, for code that works with it.

        Raises:
            EnvelopeError: the package finds an attribute invalid.
        """
        from cloudevents.core.exceptions import BaseCloudEventException  # noqa: PLC0415 - heavy, and few need it
        from cloudevents.core.formats.json import JSONFormat  # noqa: PLC0415
        from cloudevents.core.v1.event import CloudEvent  # noqa: PLC0415

        try:
            return cast("CloudEvent", JSONFormat().read(CloudEvent, self.raw))
        except (BaseCloudEventException, ValueError) as error:
            raise EnvelopeError(str(error)) from error
