"""Kubernetes label selectors, the language of ``kubectl -l``.

Source: the Kubernetes documentation's "Labels and Selectors": equality (``=``, ``==``, ``!=``), set (``in``,
``notin``) and existence (``key``, ``!key``) requirements, joined by commas that all must hold.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kamaji_events.errors import FilterError

__all__ = ["Requirement", "Selector"]

_KEY = r"(?:[A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)\Z")
_EQUAL = re.compile(rf"({_KEY})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)\Z")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})\Z")
_COMMA = re.compile(r",(?![^()]*\))")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement; ``!=`` and ``notin`` also hold where the key is absent, as in Kubernetes."""

    key: str
    operator: Literal["in", "notin", "exists", "absent"]
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when the labels satisfy it."""
        match self.operator:
            case "in":
                return labels.get(self.key) in self.values
            case "notin":
                return labels.get(self.key) not in self.values
            case "exists":
                return self.key in labels
            case "absent":
                return self.key not in labels


def _requirement(text: str, whole: str) -> Requirement:
    if found := _SET.match(text):
        key, operator, values = found.groups()
        wanted = frozenset(value.strip() for value in values.split(","))
        return Requirement(key, "in" if operator == "in" else "notin", wanted)
    if found := _EQUAL.match(text):
        key, operator, value = found.groups()
        return Requirement(key, "notin" if operator == "!=" else "in", frozenset((value,)))
    if found := _EXISTS.match(text):
        return Requirement(found.group(2), "absent" if found.group(1) else "exists")
    raise FilterError(
        f"label selector {whole!r}: cannot read {text!r}; write e.g. 'tier=gold,env in (prod,stage),!test'"
    )


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that must all hold; none of them means that everything matches."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """Read a selector.

        Raises:
            FilterError: the text is no selector; the part that cannot be read is named.
        """
        return _parse(text)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when the labels satisfy every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Selector:
    if not text.strip():
        return Selector()
    return Selector(tuple(_requirement(part.strip(), text) for part in _COMMA.split(text)))
