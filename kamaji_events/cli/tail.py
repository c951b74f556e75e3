"""``kamaji-events tail``: events as they go by."""

import sys
from typing import Annotated

import typer

from kamaji_events.cli.amqp import AmqpUrl, Prefix, amqp_url
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

__all__ = ["app"]

app = new_app("Watch events go by.")


@app.command()
def tail(
    events: Annotated[
        list[str] | None,
        typer.Option("--event", "-e", metavar="PATTERN", help="Two words, '*' for any: 'upgrade.*'. Repeatable."),
    ] = None,
    namespaces: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", metavar="NAME", help="'tenant-*' too. Repeatable.")
    ] = None,
    clusters: Annotated[
        list[str] | None, typer.Option("--cluster", "-c", metavar="NAME", help="Management cluster. Repeatable.")
    ] = None,
    labels: Annotated[
        str, typer.Option("--selector", "-l", metavar="LABELS", help="As for kubectl: 'tier=gold,env in (prod)'.")
    ] = "",
    since: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Begin with the history of the last '15m', '24h' ...")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Leave after N events.")] = None,
    json: Annotated[
        bool | None,
        typer.Option("--json/--text", help="JSON lines, or lines for people; by default what suits the output."),
    ] = None,
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Watch events go by, filtered by event, namespace, cluster and labels.

    On a terminal each event is a line with colour; in a pipe, one line of JSON in CloudEvents' structured mode.
    Nothing is taken away from anyone: tail listens on a queue of its own that goes when it ends.

    \b
    Examples:
      kamaji-events tail
      kamaji-events tail -e 'upgrade.*' -e '*.stalled' -n tenants
      kamaji-events tail --since 24h -l tier=gold
      kamaji-events tail -e outage.started | jq -r .subject
    """  # noqa: D301 - \b keeps click from filling the lines
    as_json = not sys.stdout.isatty() if json is None else json
    where = amqp_url(url)
    if sys.stderr.isatty() and not as_json:
        sys.stderr.write("listening; Ctrl-C ends\n")
    _quiet_logs()
    run(_tail(where, events or [], namespaces or [], clusters or [], labels, since, count, prefix, as_json=as_json))


def _quiet_logs() -> None:
    import logging

    logging.basicConfig(level=logging.WARNING, format="kamaji-events: %(message)s")
    logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # a lost connection is told by us: in one line, no stack


async def _tail(
    url: str,
    events: list[str],
    namespaces: list[str],
    clusters: list[str],
    labels: str,
    since: str | None,
    count: int | None,
    prefix: str,
    *,
    as_json: bool,
) -> None:
    from kamaji_events.cli.lines import line
    from kamaji_events.client import subscribe

    colour = sys.stdout.isatty()
    left = count
    async with subscribe(
        url, events=events, namespaces=namespaces, clusters=clusters, labels=labels, since=since, prefix=prefix
    ) as arriving:
        async for event in arriving:
            text = event.raw.decode() if as_json else line(event, colour=colour)
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
            left = None if left is None else left - 1
            if left == 0:
                return
