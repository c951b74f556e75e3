"""Sinks by name: the built-in ones and those of plug-ins.

A plug-in is an entry point of the group ``kamaji_events.sinks``; its name is what stands in a subscription::

    [project.entry-points."kamaji_events.sinks"]
    sqlite = "my_package:SqliteSink"

It names a class (or any callable) like this; ``examples/plugin`` is a whole one, ``consumers.sinks.conformance``
what it must pass::

    class SqliteSink:
        class Settings(SinkSettings):
            path: Path

        def __init__(self, settings: Settings, context: SinkContext) -> None: ...
        async def deliver(self, delivery: Delivery) -> Outcome: ...
        async def aclose(self) -> None: ...
"""

import difflib
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, cast

from pydantic import BaseModel, ValidationError

from consumers.sinks.base import Sink
from consumers.sinks.context import SinkContext
from consumers.sinks.settings import settings_error
from kamaji_events.errors import SettingsError

__all__ = ["GROUP", "SinkFactory", "build", "factory", "names"]

GROUP = "kamaji_events.sinks"
"""The entry points' group."""

_BUILT_IN = {
    "webhook": "consumers.sinks.webhook:WebhookSink",
    "slack": "consumers.sinks.slack:SlackSink",
    "queue": "consumers.sinks.queue:QueueSink",
    "log": "consumers.sinks.log:LogSink",
}


class SinkFactory(Protocol):
    """What an entry point names: a sink's class, or anything that is called like one."""

    Settings: type[BaseModel]
    """What stands under the sink's name in a subscription; unknown keys should be refused (``SinkSettings``)."""

    def __call__(self, settings: Any, context: SinkContext, /) -> Sink:
        """Make the sink. Nothing is connected yet: there may be no event loop.

        Raises:
            ValueError: the settings do not fit together; the text says how to mend them.
        """


def _plug_ins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> tuple[str, ...]:
    """Every sink that can be built here."""
    return tuple(sorted({*_BUILT_IN, *_plug_ins()}))


def factory(name: str, *, where: str = "sink") -> SinkFactory:
    """The factory of a sink; a built-in one cannot be replaced by a plug-in of its name.

    Raises:
        SettingsError: no such sink is installed, or its plug-in cannot be imported.
    """
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        return cast("SinkFactory", getattr(import_module(module), attribute))
    point = _plug_ins().get(name)
    if point is None:
        raise SettingsError(f"{where}: there is no sink {name!r}{_hint(name)}")
    try:
        return cast("SinkFactory", point.load())
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"{where}: sink {name!r} ({point.value}) cannot be loaded: {error}") from error


def _hint(name: str) -> str:
    known = names()
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    also = f"; did you mean {near[0]!r}?" if near else f"; installed are {', '.join(known)}"
    return f"{also} (plug-ins are entry points of {GROUP!r})"


def build(
    name: str, settings: Mapping[str, Any] | None, *, where: str = "sink", context: SinkContext | None = None
) -> Sink:
    """Make a sink from what stands in a subscription.

    Args:
        name: ``webhook``, ``slack``, ``queue``, ``log`` or a plug-in's.
        settings: the keys under the name; None is none.
        where: the file and subscription for error texts, e.g. ``"subscriptions.yaml: pager"``.
        context: what the worker gives; None makes one for tries.

    Raises:
        SettingsError: the text names the subscription, the key and the cure.
    """
    context = context or SinkContext()
    made = factory(name, where=where)
    try:
        read = made.Settings.model_validate({} if settings is None else settings, context={"environ": context.environ})
    except ValidationError as error:
        raise settings_error(made.Settings, error, where=where, name=name) from None
    try:
        return made(read, context)
    except ValueError as error:
        raise SettingsError(f"{where}: {name}: {error}") from error
