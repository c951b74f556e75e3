"""Which objects of a kind a list or watch is about: namespace, label selector, field selector."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kamaji_events.errors import FilterError
from kamaji_events.selector import Selector
from kamaji_events.simulator.refusal import bad_request
from kamaji_events.simulator.version import Version

__all__ = ["Selection"]

_FIELD = re.compile(r"([^=!]+)(==|=|!=)(.*)\Z")
_FIELDS = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    value: str
    equal: bool

    def matches(self, version: Version) -> bool:
        there = version.meta.name if self.name == "metadata.name" else version.meta.namespace or ""
        return (there == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selection:
    """What matches."""

    namespace: str | None = None
    labels: Selector = field(default_factory=Selector)
    fields: tuple[_Field, ...] = ()

    @classmethod
    def parse(cls, namespace: str | None, labels: str, fields: str) -> "Selection":
        """Read the query's selectors.

        Raises:
            Refusal: one cannot be read, or names a field that has no index.
        """
        try:
            selector = Selector.parse(labels)
        except FilterError as error:
            raise bad_request(f"unable to parse requirement: {error}") from error
        return cls(namespace, selector, tuple(_fields(fields)))

    @property
    def narrows(self) -> bool:
        """True when a selector leaves something out, whatever it is."""
        return bool(self.labels.requirements or self.fields)

    def matches(self, version: Version | None) -> bool:
        """True for an object that is selected."""
        if version is None or (self.namespace is not None and version.meta.namespace != self.namespace):
            return False
        return self.labels.matches(version.labels) and all(wanted.matches(version) for wanted in self.fields)


def _fields(text: str) -> Iterable[_Field]:
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = _FIELD.match(part)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = found.groups()
        if name not in _FIELDS:
            raise bad_request(f"field label not supported: {name}")
        yield _Field(name, value, operator != "!=")
