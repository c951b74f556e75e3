"""``kamaji-events dead list|show|redrive|purge``."""

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

app = new_app("Dead letters: events that were given up, kept until a person decides.", group=True)

_Subscription = Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="Whose dead letters.")]


@app.command("list")
def list_(
    subscriptions: Annotated[
        list[str] | None, typer.Argument(metavar="[SUBSCRIPTION]...", help="Whose; all that have some by default.")
    ] = None,
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
    """List dead letters, the oldest first; they stay where they are."""
    meant = choice(ids, events, namespaces, names, error, older, younger)
    run(listed(amqp_url(url), prefix, subscriptions or [], meant, limit or 100, json=json))


@app.command()
def show(subscription: _Subscription, event_id: EventId, prefix: Prefix = "kamaji", url: AmqpUrl = None) -> None:
    """Show one dead letter: why it died, and the event itself."""
    run(shown(amqp_url(url), prefix, subscription, event_id))


@app.command()
def redrive(
    subscription: _Subscription,
    to: Annotated[str | None, typer.Option(metavar="SUBSCRIPTION", help="Send to another one instead.")] = None,
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
    """Send dead letters again, as if they had never failed: the same bytes and ids.

    Killed midway there may be copies, never a loss. What dies again is a dead letter again.

    \b
    Examples:
      kamaji-events dead redrive billing --id 0f4d.upgrade.3.completed
      kamaji-events dead redrive billing --error 'connection refused' --younger 1d
      kamaji-events dead redrive billing --to billing-new --yes
    """  # noqa: D301 - \b keeps click from filling the lines
    meant = choice(ids, events, namespaces, names, error, older, younger)
    confirmed(yes=yes, meant=meant, limit=limit, what="sends all of them again")
    count = run(sent(amqp_url(url), prefix, subscription, meant, to=to, limit=limit))
    if count is not None:
        sys.stdout.write(f"{count} sent again\n")


@app.command()
def purge(
    subscription: _Subscription,
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
    """Throw dead letters away for good."""
    meant = choice(ids, events, namespaces, names, error, older, younger)
    confirmed(yes=yes, meant=meant, limit=limit, what="throws all of them away")
    count = run(purged(amqp_url(url), prefix, subscription, meant, limit=limit))
    if count is not None:
        sys.stdout.write(f"{count} thrown away\n")
