"""Write the generated parts of docs/: tables made from the catalogue, the settings and the metrics.

Pages are written by hand; between ``<!-- generated: NAME -->`` and ``<!-- end -->`` stands what this script makes.
``--check`` changes nothing and fails when a page is not up to date.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from prometheus_client import Metric
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from kamaji_events.catalogue import CATALOGUE, EventType, Kind
from kamaji_events.duration import seconds
from kamaji_events.settings import Settings

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_BLOCK = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _events(kind: Kind, *, operations: bool | None = None) -> str:
    chosen = [event for event in CATALOGUE if event.kind == kind and operations in (None, event.operation)]
    return _table(("event", "severity", "said when", "own members of `data`"), map(_event_row, chosen))


def _event_row(event: EventType) -> tuple[str, ...]:
    return f"`{event.name}`", str(event.severity), event.meaning, ", ".join(f"`{name}`" for name in event.details)


def _details() -> str:
    from kamaji_events.payload import DETAILS  # noqa: PLC0415 - only this part needs it

    users = {name: [f"`{event.name}`" for event in CATALOGUE if name in event.details] for name in DETAILS}
    rows = ((f"`{name}`", DETAILS[name].meaning, _some(events)) for name, events in users.items() if events)
    return _table(("member", "meaning", "events"), rows)


def _some(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    return ", ".join(shown) if len(shown) < 4 else f"{shown[0]} and {len(shown) - 1} more"  # noqa: PLR2004 - a cell


def _settings(settings: type[Settings]) -> str:
    return _table(("key", "variable", "default", "meaning"), _setting_rows(settings))


def _setting_rows(settings: type[Settings]) -> Iterator[tuple[str, ...]]:
    for path, field in _fields(settings):
        variable = "KAMAJI_EVENTS_" + "__".join(path).upper()
        if path == ("amqp_url",):
            variable = f"AMQP_URL` or `{variable}"
        yield f"`{'.'.join(path)}`", f"`{variable}`", _default(path, field), _one_line(field.description)


def _fields(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Every setting, those of groups with their path."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _fields(field.annotation, (*above, name))
        else:
            yield (*above, name), field


def _default(path: tuple[str, ...], field: FieldInfo) -> str:
    if path == ("instance",):
        return "the host's name"
    value: Any = field.get_default(call_default_factory=True)
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, (int, float)) and not isinstance(value, bool) and _is_duration(field):
        return _duration(value)
    match value:
        case None | "" | () | [] | {}:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return f"`{value}`"


def _is_duration(field: FieldInfo) -> bool:
    return any(getattr(item, "func", None) is seconds for item in field.metadata)


def _duration(value: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if value >= size and value % size == 0:
            return f"`{value / size:g}{unit}`"
    return f"`{value:g}s`"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _publisher_settings() -> str:
    from publisher.settings import PublisherSettings  # noqa: PLC0415 - only this part needs it

    return _settings(PublisherSettings)


def _consumer_settings() -> str:
    from consumers.settings import ConsumerSettings  # noqa: PLC0415 - only this part needs it

    return _settings(ConsumerSettings)


def _document(model: type[BaseModel]) -> str:
    """Every key of a YAML document's model, by the names that are written."""
    return _table(("key", "default", "meaning"), _document_rows(model, ""))


def _document_rows(model: type[BaseModel], above: str) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        key = f"{above}{field.alias or name}"
        inner = _inner(field.annotation)
        required = field.is_required()
        shown = "required" if required else "" if inner else _default((), field)
        yield f"`{key}`", shown, _one_line(field.description).replace("``", "`")
        if inner is not None:
            several = "[]" if "tuple" in str(field.annotation) else ""
            yield from _document_rows(inner, f"{key}{several}.")


def _inner(annotation: Any) -> type[BaseModel] | None:
    """The model inside an annotation such as ``tuple[Part, ...] | None``; one that reads itself is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None if annotation.__name__ in _LEAVES else annotation
    found = [_inner(part) for part in get_args(annotation)]
    return next((part for part in found if part is not None), None)


_LEAVES = frozenset(("Secret", "Text"))
"""Models that are told as one value: ``{fromFile: ...}``."""


def _subscriptions_file() -> str:
    from consumers.document import SubscriptionPart  # noqa: PLC0415 - only this part needs it

    defaults = ("`defaults.delivery`", "", "For every subscription that does not say otherwise: as its `delivery`.")
    rows = chain([defaults], _document_rows(SubscriptionPart, "subscriptions[]."))
    return _table(("key", "default", "meaning"), rows)


def _sinks() -> str:
    from consumers.sinks.registry import factory, names  # noqa: PLC0415 - only this part needs it

    made = {name: factory(name) for name in names()}
    ours = {name: sink for name, sink in made.items() if getattr(sink, "__module__", "").startswith("consumers.")}
    return "\n".join(f"#### {name}\n\n{_sink(sink.Settings)}" for name, sink in ours.items())


def _sink(settings: type[BaseModel]) -> str:
    return _document(settings) if settings.model_fields else "No settings.\n"


def _metrics(families: Iterable[Metric]) -> str:
    rows = [
        (f"`{family.name}{'_total' if family.type == 'counter' else ''}`", family.type, family.documentation)
        for family in families
        if family.name.startswith(("kamaji_events_publisher", "kamaji_events_consumers"))
    ]
    return _table(("metric", "type", "meaning"), rows)


def _publisher_metrics() -> str:
    from publisher.health import PublisherCollector  # noqa: PLC0415 - only this part needs it
    from publisher.run import Service  # noqa: PLC0415
    from publisher.settings import PublisherSettings  # noqa: PLC0415

    service = Service(PublisherSettings(cluster="docs", kubeconfig=Path("never-read")))
    parts = (service.condition, service.pipeline, service._watches, service._buffer)  # noqa: SLF001 - only to list them
    return _metrics(PublisherCollector(*parts).collect())


def _consumer_metrics() -> str:
    from consumers.metrics import ConsumerMetrics  # noqa: PLC0415 - only this part needs it

    return _metrics(ConsumerMetrics().registry.collect())


PARTS: Mapping[str, Callable[[], str]] = {
    "operations": lambda: _events(Kind.TENANTCONTROLPLANE, operations=True),
    "details": _details,
    "states": lambda: _events(Kind.TENANTCONTROLPLANE, operations=False),
    "datastore": lambda: _events(Kind.DATASTORE),
    "publisher": lambda: _events(Kind.PUBLISHER),
    "subscription": lambda: _events(Kind.SUBSCRIPTION),
    "publisher-settings": _publisher_settings,
    "consumer-settings": _consumer_settings,
    "publisher-metrics": _publisher_metrics,
    "consumer-metrics": _consumer_metrics,
    "subscriptions-file": _subscriptions_file,
    "sinks": _sinks,
}


def generated(text: str) -> str:
    """A page with its generated parts made anew.

    Raises:
        KeyError: a page asks for a part that does not exist.
    """
    return _BLOCK.sub(lambda found: f"{found[1]}{PARTS[found[2]]()}{found[3]}", text)


def main(*words: str) -> int:
    """Write, or with ``--check`` compare; the number of stale pages is the exit code."""
    check = "--check" in words
    stale = 0
    for page in sorted(_DOCS.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = generated(before)
        if after == before:
            continue
        stale += 1
        if not check:
            page.write_text(after, encoding="utf-8")
        word = "is not up to date: run scripts/generate_docs.py" if check else "written"
        sys.stdout.write(f"docs/{page.name} {word}\n")
    return stale if check else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
