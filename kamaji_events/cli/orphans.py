"""``kamaji-events orphans list|show|redrive|purge``."""

import sys
from typing import Annotated

import typer

from kamaji_events.cli.amqp import AmqpUrl, Prefix, amqp_url
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.letters import (
    Age,
    Error,
    EventId,
    EventPattern,
    Ids,
    Json,
    Limit,
    Name,
    Namespace,
    Yes,
    Younger,
    choice,
    confirmed,
    listed,
    purged,
    sent,
    shown,
)
from kamaji_events.cli.running import run

__all__ = ["app"]

app = new_app("Orphans: retries whose subscription is gone, kept until a person decides.", group=True)

_ORPHANS = "orphans"


@app.command("list")
def list_(
    ids: Ids = None,
    events: EventPattern = None,
    namespaces: Namespace = None,
    names: Name = None,
    error: Error = "",
    older: Age = None,
    younger: Younger = None,
    limit: Limit = 100,
    json: Json = False,
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """List orphans, the oldest first; they stay where they are."""
    meant = choice(ids, events, namespaces, names, error, older, younger)
    run(listed(amqp_url(url), prefix, [_ORPHANS], meant, limit or 100, json=json))


@app.command()
def show(event_id: EventId, prefix: Prefix = "kamaji", url: AmqpUrl = None) -> None:
    """Show one orphan: how it failed, and the event itself."""
    run(shown(amqp_url(url), prefix, _ORPHANS, event_id))


@app.command()
def redrive(
    to: Annotated[str, typer.Option(metavar="SUBSCRIPTION", help="The subscription that shall have them.")],
    ids: Ids = None,
    events: EventPattern = None,
    namespaces: Namespace = None,
    names: Name = None,
    error: Error = "",
    older: Age = None,
    younger: Younger = None,
    limit: Limit = None,
    yes: Yes = False,
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Send orphans again, as if they had never failed: the same bytes and ids.

    Their own subscription is gone, so another one has to be named. Killed midway there may be copies, never a loss.

    \b
    Examples:
      kamaji-events orphans redrive --to billing --id 0f4d.upgrade.3.completed
      kamaji-events orphans redrive --to billing --error 'connection refused' --younger 1d
      kamaji-events orphans redrive --to billing --yes
    """  # noqa: D301 - \b keeps click from filling the lines
    meant = choice(ids, events, namespaces, names, error, older, younger)
    confirmed(yes=yes, meant=meant, limit=limit, what="sends every orphan again")
    count = run(sent(amqp_url(url), prefix, _ORPHANS, meant, to=to, limit=limit))
    if count is not None:
        sys.stdout.write(f"{count} sent again\n")


@app.command()
def purge(
    ids: Ids = None,
    events: EventPattern = None,
    namespaces: Namespace = None,
    names: Name = None,
    error: Error = "",
    older: Age = None,
    younger: Younger = None,
    limit: Limit = None,
    yes: Yes = False,
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Throw orphans away for good."""
    meant = choice(ids, events, namespaces, names, error, older, younger)
    confirmed(yes=yes, meant=meant, limit=limit, what="throws every orphan away")
    count = run(purged(amqp_url(url), prefix, _ORPHANS, meant, limit=limit))
    if count is not None:
        sys.stdout.write(f"{count} thrown away\n")
