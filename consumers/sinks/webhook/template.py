"""Bodies of a receiver's own shape, by a sandboxed Jinja2 template.

A template sees ``event`` (attributes by name, and ``kind`` and ``name``), ``data``, ``subscription``, ``attempt``,
``variables``, ``headline``, ``meaning`` and ``place``; besides Jinja2's own filters ``tojson`` (plain JSON), ``cut``
(at most so many letters), ``duration`` (seconds in words) and ``later`` (a time plus seconds). Examples for Teams,
Mattermost, PagerDuty and Alertmanager are in ``examples/templates``. The event's id goes along in the headers.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

import orjson
from jinja2 import ChainableUndefined, StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import Field, model_validator

from consumers.sinks.base import Delivery
from consumers.sinks.secret import Text
from consumers.sinks.settings import SinkSettings
from consumers.sinks.webhook.binding import Message, Unfit
from consumers.sinks.wording import duration, headline, meaning, place

__all__ = ["BodyTemplate", "TemplateSettings"]

_MOST = 1024 * 1024
"""Bytes of a rendered body."""


class TemplateSettings(SinkSettings):
    """A body template; it takes the place of ``mode``."""

    file: Path | None = None
    """Where the template is."""
    inline: str | None = None
    """The template itself, when it is short."""
    content_type: str = "application/json"
    """Of the body; with JSON the result is checked to be JSON."""
    variables: dict[str, Text] = Field(default_factory=dict)
    """Values for the template, secret ones from a file or the environment, e.g. a routing key."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.file is None) == (self.inline is None):
            raise ValueError("needs exactly one of file and inline")
        return self


class _Missing(ChainableUndefined, StrictUndefined):
    """``data.operation.to`` may be absent in the middle; ``default`` takes it, printing it is an error."""


class BodyTemplate:
    """A compiled template.

    Raises:
        ValueError: it cannot be read or is no template; the text names the line.
    """

    def __init__(self, settings: TemplateSettings) -> None:
        self._settings = settings
        environment = ImmutableSandboxedEnvironment(undefined=_Missing, autoescape=False)
        environment.filters |= {"duration": duration, "cut": _cut, "later": _later}
        # Not HTML's escaping of < and &: bodies are read by machines that show them as they are.
        environment.policies["json.dumps_function"] = _json
        environment.filters["tojson"] = _json
        try:
            source = settings.inline if settings.file is None else settings.file.read_text(encoding="utf-8")
            self._template = environment.from_string(source or "")
        except TemplateSyntaxError as error:
            raise ValueError(f"template: line {error.lineno}: {error.message}") from None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise ValueError(f"template: cannot read {settings.file}: {reason}") from None
        self._is_json = "json" in settings.content_type.lower()

    def render(self, delivery: Delivery) -> Message:
        """Headers and body.

        Raises:
            Unfit: the template fails on this event, or what it makes is too long or no JSON.
        """
        try:
            body = self._template.render(self._names(delivery)).strip().encode()
        except (TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
            raise Unfit(f"the template fails on {delivery.event.name}: {' '.join(str(error).split())[:200]}") from error
        if len(body) > _MOST:
            raise Unfit(f"the template makes {len(body)} bytes of {delivery.event.name}, {_MOST} are allowed")
        if self._is_json:
            _check(body, delivery.event.name)
        return [("content-type", self._settings.content_type)], body

    def _names(self, delivery: Delivery) -> Mapping[str, Any]:
        event = delivery.event
        return {
            "event": {**event.attributes, "kind": event.kind, "name": event.name, "severity": event.severity},
            "data": event.data,
            "subscription": delivery.subscription,
            "attempt": delivery.attempt,
            "variables": {name: text.value() for name, text in self._settings.variables.items()},
            "headline": headline(event),
            "meaning": meaning(event),
            "place": place(event),
        }


def _check(body: bytes, name: str) -> None:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unfit(f"the template makes no JSON of {name}: {error}") from None


def _json(value: Any, indent: int | None = None) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None).decode()


def _cut(text: Any, length: int) -> str:
    whole = str(text)
    return whole if len(whole) <= length else f"{whole[: max(0, length - 1)]}…"


def _later(time: Any, seconds: float) -> str:
    return (datetime.fromisoformat(str(time)) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
