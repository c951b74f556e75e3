"""``kamaji-events schema``: the JSON Schema of events."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kamaji_events.cli.lazy import new_app
from kamaji_events.envelope import SCHEMA_BASE

if TYPE_CHECKING:
    from kamaji_events.catalogue import EventType

__all__ = ["app"]

app = new_app("Print the JSON Schema of events.")


@app.command()
def schema(
    events: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EVENT]...", help="Patterns such as 'upgrade.completed', 'datastore.*'; all by default."
        ),
    ] = None,
    base: Annotated[
        str, typer.Option(metavar="PREFIX", help="Prefix of $id: the publisher's schema_base.")
    ] = SCHEMA_BASE,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="Write one file for each event, to serve them.")
    ] = None,
    names: Annotated[bool, typer.Option("--list", help="Only the types, one a line.")] = False,
) -> None:
    """Print the JSON Schema (2020-12) of the data of events.

    One event's schema is printed as it is, several as one object by CloudEvents type. What `dataschema` names is the
    prefix and the last three words of the type.

    \b
    Examples:
      kamaji-events schema upgrade.completed
      kamaji-events schema 'datastore.*' | jq keys
      kamaji-events schema --folder /srv/schemas --base https://schemas.example/kamaji/v1/
    """  # noqa: D301 - \b keeps click from filling the lines
    chosen = _chosen(events or ["*"])
    if names:
        sys.stdout.writelines(f"{event.type}\n" for event in chosen)
    elif folder is not None:
        _write(chosen, folder, base)
    else:
        _show(chosen, base, several=len(chosen) > 1)


def _chosen(patterns: list[str]) -> "list[EventType]":
    """Events of the catalogue that a pattern means, in its order.

    Raises:
        FilterError: a pattern matches none.
    """
    from kamaji_events.catalogue import CATALOGUE
    from kamaji_events.filter import event_keys

    keys = frozenset().union(*map(event_keys, patterns))
    return [event for event in CATALOGUE if f"{event.kind}.{event.name}" in keys]


def _show(events: "list[EventType]", base: str, *, several: bool) -> None:
    from kamaji_events.schema import schema_of

    made = {event.type: schema_of(event, base=base) for event in events}
    sys.stdout.write(_json(made if several else next(iter(made.values()))))


def _write(events: "list[EventType]", folder: Path, base: str) -> None:
    from kamaji_events.errors import InputError
    from kamaji_events.schema import schema_of

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for event in events:
            file = folder / f"{event.kind}.{event.name}"
            file.write_text(_json(schema_of(event, base=base)), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from error
    sys.stdout.write(f"{len(events)} schemas in {folder}\n")


def _json(content: Any) -> str:
    import orjson

    return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n"
