"""The subscriptions file: who gets which events, how, and how hard it is tried.

::

    defaults:
      delivery: {timeout: 10s}
    subscriptions:
      - name: billing
        filter:
          events: ["upgrade.completed", "delete.*"]
          namespaces: ["tenant-*"]
          labels: tier=gold
        from: 24h
        sink: {webhook: {url: https://billing.example/hooks}}
        delivery: {ordering: object, delays: [5s, 30s, 2min]}

Everything is checked when it is read; an error names the file, the line, the key and the cure.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from consumers.document import FilterPart, SubscriptionPart, SubscriptionsDocument
from consumers.policy import Policy
from consumers.yamldoc import Place, YamlDocument
from kamaji_events.errors import FilterError, SettingsError
from kamaji_events.filter import Filter

__all__ = ["Config", "Subscription", "load_config", "read_config"]


@dataclass(frozen=True, slots=True)
class Subscription:
    """One entry of the file. Equal subscriptions behave equally: a reload leaves them alone."""

    name: str
    filter: Filter
    sink: str
    """The sink's name in the registry."""
    sink_settings: Mapping[str, Any] = field(repr=False)
    """What stands under it; it may hold secrets, so it is never shown."""
    policy: Policy
    history: float | None = None
    """``from:`` seconds of history that a new subscription starts with."""
    enabled: bool = True
    """False: the queue is kept and filled, nothing is delivered."""
    where: str = field(default="", compare=False)
    """File, line and key of its sink, for errors."""


@dataclass(frozen=True, slots=True)
class Config:
    """A subscriptions file that was read and checked."""

    subscriptions: tuple[Subscription, ...]

    def get(self, name: str) -> Subscription:
        """The subscription of this name.

        Raises:
            SettingsError: there is none; near names are offered.
        """
        for subscription in self.subscriptions:
            if subscription.name == name:
                return subscription
        names = [subscription.name for subscription in self.subscriptions]
        raise SettingsError(f"no subscription {name!r}; {_nearest(name, names) or 'there is none at all'}")


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known))}" if known else ""


def load_config(path: Path) -> Config:
    """Read a subscriptions file.

    Raises:
        SettingsError: it cannot be read or used; the first thing wrong is named with its place and the cure.
    """
    return _checked(YamlDocument.open(path))


def read_config(text: str, *, name: str = "subscriptions.yaml") -> Config:
    """Read the text of a subscriptions file; see ``load_config``."""
    return _checked(YamlDocument(name, text))


def _checked(document: YamlDocument) -> Config:
    value = document.value
    if not isinstance(value, dict):
        raise SettingsError(f"{document.name}: write 'subscriptions:' with a list of subscriptions under it")
    try:
        parts = SubscriptionsDocument.model_validate(value)
    except ValidationError as error:
        raise _problem(document, error) from None
    _no_name_twice(document, parts)
    found = [_subscription(document, number, part, parts) for number, part in enumerate(parts.subscriptions)]
    return Config(tuple(found))


def _no_name_twice(document: YamlDocument, parts: SubscriptionsDocument) -> None:
    seen: dict[str, int] = {}
    for number, part in enumerate(parts.subscriptions):
        if part.name in seen:
            place = document.where(("subscriptions", number, "name"))
            first = document.where(("subscriptions", seen[part.name], "name"))
            raise SettingsError(f"{place}: the name {part.name!r} is taken by {first}; names must differ")
        seen[part.name] = number


def _subscription(
    document: YamlDocument, number: int, part: SubscriptionPart, parts: SubscriptionsDocument
) -> Subscription:
    here: Place = ("subscriptions", number)
    return Subscription(
        name=part.name,
        filter=_filter(document, here, part.filter),
        sink=part.sink[0],
        sink_settings=part.sink[1],
        policy=part.delivery.over(parts.defaults.delivery),
        history=part.history,
        enabled=part.enabled,
        where=document.where((*here, "sink")),
    )


def _filter(document: YamlDocument, here: Place, part: FilterPart) -> Filter:
    """Built member by member, so that an error can name the very pattern."""
    for member in ("events", "clusters", "namespaces"):
        for number, pattern in enumerate(getattr(part, member)):
            try:
                _one_pattern(member, pattern)
            except FilterError as error:
                raise SettingsError(f"{document.where((*here, 'filter', member, number))}: {error}") from error
    try:
        return Filter(events=part.events, clusters=part.clusters, namespaces=part.namespaces, labels=part.labels)
    except FilterError as error:
        raise SettingsError(f"{document.where((*here, 'filter', 'labels'))}: {error}") from error


def _one_pattern(member: str, pattern: str) -> Filter:
    match member:
        case "events":
            return Filter(events=(pattern,))
        case "clusters":
            return Filter(clusters=(pattern,))
        case _:
            return Filter(namespaces=(pattern,))


def _problem(document: YamlDocument, error: ValidationError) -> SettingsError:
    problems = error.errors(include_url=False, include_input=False)
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    place: Place = tuple(part for part in first["loc"] if not _internal(part))
    if first["type"] == "extra_forbidden":
        return SettingsError(f"{document.where(place)}: unknown key; {_nearest(str(place[-1]), _known(place))}")
    if first["type"] == "missing":
        return SettingsError(f"{document.where(place[:-1])}: {str(place[-1])!r} is missing; add it")
    return SettingsError(f"{document.where(place)}: {_plain(first['msg'])}")


def _internal(part: str | int) -> bool:
    """Parts of pydantic's paths that are no keys of the document."""
    return isinstance(part, str) and part.startswith(("function-", "tuple[", "is-instance"))


def _plain(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return text[0].lower() + text[1:] if text else "cannot be used"


def _known(place: Place) -> list[str]:
    """The keys that are known where an unknown one stands."""
    model: Any = SubscriptionsDocument
    for part in place[:-1]:
        if isinstance(part, str):
            model = _member(model, part)
    return [info.alias or name for name, info in model.model_fields.items()]


def _member(model: Any, key: str) -> Any:
    for name, info in model.model_fields.items():
        if key in (name, info.alias):
            kind = info.annotation
            return next((arg for arg in getattr(kind, "__args__", ()) if hasattr(arg, "model_fields")), kind)
    return model
