"""The shape of the subscriptions file: every key there is, each with its meaning and default.

The reference for people is made from these docstrings. A value that is not given stays unset, so that the
``defaults`` of a file can stand below each subscription's own.
"""

import re
from datetime import time
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from consumers.policy import Circuit, Ordering, Policy, QuietHours, Quota
from kamaji_events.duration import Duration

__all__ = ["DeliveryPart", "FilterPart", "SubscriptionPart", "SubscriptionsDocument"]

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(s|min|h)\Z")
_RATE_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|kB|MB|GB)\Z")
_SIZE_BYTES = {"B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9}
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\Z")


def _rate(value: object) -> object:
    if value is None:
        return None
    found = _RATE.match(value.strip()) if isinstance(value, str) else None
    if found is None or float(found.group(1)) <= 0:
        raise ValueError("write a rate such as '10/s', '600/min' or '100/h'")
    return float(found.group(1)) / _RATE_SECONDS[found.group(2)]


def _size(value: object) -> object:
    if not isinstance(value, str):
        return value
    found = _SIZE.match(value.strip())
    if found is None:
        raise ValueError("write a size such as '500MB' or '2GB'")
    return int(float(found.group(1)) * _SIZE_BYTES[found.group(2)])


def _clock(value: object) -> object:
    found = _CLOCK.match(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("write a time of day such as '22:00', in quotes")
    return time(int(found.group(1)), int(found.group(2)))


def _zone(value: object) -> object:
    try:
        return ZoneInfo(str(value))
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{value!r} is no time zone: write e.g. 'Europe/Berlin' or 'UTC'") from error


def _name(value: object) -> object:
    if isinstance(value, str) and _NAME.match(value):
        return value
    raise ValueError(f"{value!r}: write 1 to 63 lower-case letters, digits or '-', e.g. 'billing'")


def _sink(value: object) -> object:
    """One key, whose value are the sink's settings, or nothing at all."""
    if isinstance(value, str) and value:
        return value, {}
    if isinstance(value, dict) and len(value) == 1:
        name, settings = next(iter(value.items()))
        if settings is None or isinstance(settings, dict):
            return name, settings or {}
    raise ValueError("write one sink with its settings under it, e.g. 'webhook: {url: https://...}'")


def _list(value: object) -> object:
    if isinstance(value, list | tuple):
        return value
    raise ValueError("write a list, e.g. [a, b]")


Patterns = Annotated[tuple[str, ...], BeforeValidator(_list)]
Positive = Annotated[Duration, Field(gt=0)]


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        arbitrary_types_allowed=True,
        hide_input_in_errors=True,
    )


class FilterPart(_Part):
    """Which events; a part that is not given means everything."""

    events: Patterns = ()
    """Patterns such as ``upgrade.*``, ``*.completed``, ``datastore.state.*``; ``*`` stands for any part of a word."""
    clusters: Patterns = ()
    """Names of management clusters, with ``*``."""
    namespaces: Patterns = ()
    """Namespaces, with ``*``."""
    labels: str = ""
    """A Kubernetes label selector, such as ``tier=gold,env in (prod,stage),!test``."""


class QuietPart(_Part):
    """A daily span in which nothing is delivered."""

    start: Annotated[Any, BeforeValidator(_clock)] = Field(alias="from")
    """Time of day, such as ``"22:00"``."""
    end: Annotated[Any, BeforeValidator(_clock)] = Field(alias="to")
    """Time of day; before ``from`` it is the next day's."""
    timezone: Annotated[Any, BeforeValidator(_zone)] = ZoneInfo("UTC")
    """Name of the time zone, such as ``Europe/Berlin``."""

    def built(self) -> QuietHours:
        """As the policy holds it."""
        return QuietHours(start=self.start, end=self.end, zone=self.timezone)


class CircuitPart(_Part):
    """When a receiver counts as down."""

    failures: int = Field(default=Circuit().failures, ge=0)
    """Failed tries in a row that pause the subscription; 0 means never."""
    events: int = Field(default=Circuit().events, ge=1)
    """... over at least so many different events."""
    probe_first: Positive = Circuit().probe_first
    """From the pause to the first probe; every further interval is twice the last."""
    probe_most: Positive = Circuit().probe_most
    """Between two probes at most."""


class QuotaPart(_Part):
    """What may wait in the queue before the subscription is suspended; ``null`` is no bound."""

    messages: int | None = Field(default=Quota().messages, gt=0)
    """Waiting events."""
    bytes: Annotated[int | None, BeforeValidator(_size)] = Field(default=Quota().bytes, gt=0)
    """Their size, such as ``2GB``; judged by the mean size of those seen."""
    age: Positive | None = Quota().age
    """How long a subscription may be paused or disabled while events gather."""


def _both(below: _Part | None, own: _Part | None) -> dict[str, Any]:
    """What either says, ``own`` first."""
    return {name: getattr(part, name) for part in (below, own) if part is not None for name in part.model_fields_set}


class DeliveryPart(_Part):
    """How hard it is tried."""

    delays: Annotated[tuple[Duration, ...] | None, BeforeValidator(_list)] = None
    """From one failed try to the next; default 5s, 30s, 2min, 10min, 30min, 1h, 3h, 6h, 12h."""
    tries: int | None = Field(default=None, ge=1)
    """Tries until an event is a dead letter; default one more than there are delays. The last delay repeats."""
    jitter: float | None = Field(default=None, ge=0, le=1)
    """Each delay is spread by this share of itself; default 0.1."""
    max_age: Positive | None = None
    """From the first failure: an event that old gets one last try; default 3d."""
    timeout: Positive | None = None
    """For one try, all of it; default 40s."""
    concurrency: int | None = Field(default=None, ge=1, le=500)
    """Tries at a time in one worker; default 10."""
    rate: Annotated[float | None, BeforeValidator(_rate)] = None
    """Tries in a span of time, at most, in one worker, such as ``10/s``; default no bound."""
    retry_after_cap: Duration | None = None
    """A receiver's Retry-After is honoured up to this; default 1h."""
    ordering: Ordering | None = None
    """``none`` (default), or ``object``: the events of one object arrive in order."""
    quiet_hours: tuple[QuietPart, ...] | None = None
    """Daily spans in which nothing is delivered; events wait."""
    circuit: CircuitPart | None = None
    """When a receiver counts as down."""
    quota: QuotaPart | None = None
    """What may wait in the queue."""

    @field_validator("delays")
    @classmethod
    def _at_least_one(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if value:
            return value
        raise ValueError("write at least one delay, or 'tries: 1' for no second try")

    def over(self, below: "DeliveryPart") -> Policy:
        """The policy of a subscription that says this, and ``below`` where this says nothing."""
        said = _both(below, self)
        given = {name: value for name, value in said.items() if value is not None or name == "rate"}
        circuit, quota = _both(below.circuit, self.circuit), _both(below.quota, self.quota)
        quiet = given.pop("quiet_hours", None) or ()
        if "delays" in given and "tries" not in given:
            given["tries"] = len(given["delays"]) + 1
        given |= {"circuit": Circuit(**circuit), "quota": Quota(**quota)}
        return Policy(quiet_hours=tuple(part.built() for part in quiet), **given)


class SubscriptionPart(_Part):
    """One subscription."""

    name: Annotated[str, BeforeValidator(_name)]
    """Lower-case letters, digits and ``-``, at most 63; its queue is named after it."""
    filter: FilterPart = FilterPart()
    """Which events."""
    history: Positive | None = Field(default=None, alias="from")
    """A new subscription starts with so much of the history, such as ``24h``; default with what comes."""
    enabled: bool = True
    """False: events gather, nothing is delivered."""
    sink: Annotated[tuple[str, dict[str, Any]], BeforeValidator(_sink)]
    """One key, the sink's name, with its settings under it; only its name for a sink that needs none."""
    delivery: DeliveryPart = DeliveryPart()
    """How hard it is tried."""


class DefaultsPart(_Part):
    """What holds for every subscription that does not say otherwise."""

    delivery: DeliveryPart = DeliveryPart()
    """How hard it is tried."""


class SubscriptionsDocument(_Part):
    """The whole file."""

    defaults: DefaultsPart = DefaultsPart()
    """What holds for every subscription that does not say otherwise."""
    subscriptions: tuple[SubscriptionPart, ...]
    """The subscriptions."""
