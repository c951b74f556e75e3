"""``kamaji-events derive``: what would be said of a recording."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kamaji_events.cli.lazy import new_app

__all__ = ["app"]

app = new_app("Print the events that a recording gives.")


@app.command()
def derive(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="Made by 'record'; plain or gzip.")],
    cluster: Annotated[
        str, typer.Option(metavar="NAME", help="The management cluster's name in the events.")
    ] = "recorded",
    text: Annotated[bool, typer.Option("--text", help="Lines for people instead of JSON.")] = False,
    announce_existing: Annotated[
        bool, typer.Option("--announce-existing", help="Also tell of what the first list holds.")
    ] = False,
    annotations: Annotated[
        list[str] | None, typer.Option("--annotation", metavar="KEY", help="Carry it in data.object. Repeatable.")
    ] = None,
) -> None:
    """Print the events that a recording gives, one line of JSON each, in order, without any cluster or broker.

    Time is the recording's own, so the same recording always gives the same bytes: this is the way to see what the
    publisher would say, and to show what it should have said.

    \b
    Examples:
      kamaji-events derive upgrade.jsonl.gz | jq -r '[.subject, .type] | @tsv'
      kamaji-events derive stuck.jsonl.gz --text
    """  # noqa: D301 - \b keeps click from filling the lines
    from kamaji_events.cli.lines import line
    from kamaji_events.event import Event
    from publisher.derive import derive as derived
    from publisher.lifecycle.policy import Policy

    policy = Policy(announce_existing=announce_existing, annotations=tuple(annotations or ()))
    colour = sys.stdout.isatty()
    for message in derived(recording, policy=policy, cluster=cluster):
        if text:
            sys.stdout.write(f"{line(Event.from_bytes(message.body), colour=colour)}\n")
        else:
            sys.stdout.write(f"{message.body.decode()}\n")
