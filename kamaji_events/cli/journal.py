"""``kamaji-events journal show|export|import|reset``."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kamaji_events.cli.amqp import AmqpUrl, Prefix, amqp_url
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

if TYPE_CHECKING:
    from kamaji_events.broker.connection import Broker
    from kamaji_events.broker.topology import Layout

__all__ = ["app"]

app = new_app("The publisher's memory in the broker: show it, save it, put it back, begin anew.", group=True)

_Cluster = Annotated[str, typer.Argument(metavar="CLUSTER", envvar="KAMAJI_EVENTS_CLUSTER", help="Management cluster.")]


@app.command()
def show(
    cluster: _Cluster,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Show what the publisher remembers of a cluster, in figures.

    The leader is asked; without one the journal itself is read, which takes the token for a moment.
    """
    found = run(_show(amqp_url(url), prefix, cluster))
    if found is None:
        return
    if json:
        import orjson

        sys.stdout.write(f"{orjson.dumps(found, default=str).decode()}\n")
        return
    for name, value in found.items():
        sys.stdout.write(f"{name:12}  {_plain(value)}\n")


@app.command("export")
def save(
    cluster: _Cluster,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to create.")],
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Save the journal to a file, readable or not. Stop the cluster's publishers first."""
    count = run(_save(amqp_url(url), prefix, cluster, file))
    if count is not None:
        sys.stdout.write(f"{count} records saved to {file}\n")


@app.command("import")
def put_back(
    cluster: _Cluster,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of an export.")],
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Put a saved journal back into an empty one. Stop the cluster's publishers first."""
    count = run(_put_back(amqp_url(url), prefix, cluster, file))
    if count is not None:
        sys.stdout.write(f"{count} records put back\n")


@app.command()
def reset(
    cluster: _Cluster,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, forget it.")] = False,
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Forget everything about a cluster. Stop its publishers first.

    The next publisher finds its memory lost, says so, begins a new epoch and compares with the history; receivers see
    it in `sequence` and in ids. Save the journal first: kamaji-events journal export CLUSTER FILE
    """
    if not yes:
        from kamaji_events.errors import InputError

        raise InputError(f"this forgets what was remembered of {cluster!r}: give --yes")
    count = run(_reset(amqp_url(url), prefix, cluster))
    if count is not None:
        sys.stdout.write(f"{count} records forgotten\n")


@asynccontextmanager
async def _open(url: str, prefix: str) -> "AsyncIterator[tuple[Broker, Layout]]":
    from kamaji_events.broker.connection import connect
    from kamaji_events.broker.topology import Layout

    async with connect(url, name="kamaji-events journal") as broker:
        yield broker, Layout(prefix)


async def _show(url: str, prefix: str, cluster: str) -> Mapping[str, Any]:
    from publisher.journal.tools import show_journal

    async with _open(url, prefix) as (broker, layout):
        return await show_journal(broker, layout, cluster)


async def _save(url: str, prefix: str, cluster: str, file: Path) -> int:
    from publisher.journal.tools import export_journal

    async with _open(url, prefix) as (broker, layout):
        with _file(file, "xb") as out:
            return await export_journal(broker, layout, cluster, out)


async def _put_back(url: str, prefix: str, cluster: str, file: Path) -> int:
    from publisher.journal.tools import import_journal

    with _file(file, "rb") as saved:
        async with _open(url, prefix) as (broker, layout):
            return await import_journal(broker, layout, cluster, saved)


async def _reset(url: str, prefix: str, cluster: str) -> int:
    from publisher.journal.tools import reset_journal

    async with _open(url, prefix) as (broker, layout):
        return await reset_journal(broker, layout, cluster)


def _file(path: Path, mode: str) -> Any:
    from kamaji_events.errors import InputError

    try:
        return path.open(mode)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items()) or "none"
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
