"""The root of the command line: what there is to call."""

import sys
from typing import Annotated

import typer

from kamaji_events.cli.lazy import LazyGroup

__all__ = ["app"]


class _Root(LazyGroup):
    """All commands; those that only look come first."""

    commands_help = {  # noqa: RUF012 - a ClassVar of the base
        "demo": "See it work: a simulated fleet, RabbitMQ, a webhook, and what arrived.",
        "tail": "Watch events go by, filtered; JSON lines in a pipe.",
        "publisher": "Watch a management cluster and publish what happens.",
        "consumers": "Deliver events to webhooks, Slack, queues and plug-ins.",
        "subscriptions": "Check a file, try a receiver, list, pause and resume.",
        "dead": "Dead letters: list, show, redrive, purge.",
        "orphans": "Retries whose subscription is gone: list, show, redrive, purge.",
        "journal": "The publisher's memory: show, export, import, reset.",
        "receive": "A webhook receiver to try things with.",
        "derive": "Read a recording and print the events it gives.",
        "record": "Record a cluster's watch for a bug report, without secrets.",
        "simulate": "Serve a simulated Kamaji fleet as a Kubernetes API.",
        "schema": "Print the JSON Schema of events.",
    }


app = typer.Typer(
    cls=_Root,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if not wanted:
        return
    from kamaji_events import __version__

    sys.stdout.write(f"kamaji-events {__version__}\n")
    raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """CloudEvents for the life of Kamaji tenant control planes, on RabbitMQ.

    The publisher watches TenantControlPlanes and DataStores, concludes what happened (created, upgraded, scaled,
    rotated, stalled, gone ...) and publishes each conclusion once to the topic exchange kamaji.events. Consumers
    deliver them to receivers, with retries and dead letters kept by the broker.

    \b
    Start here:
      kamaji-events demo                                   all of it on this machine, in half a minute
      kamaji-events publisher run --cluster eu-1           against the cluster of your kubeconfig
      kamaji-events tail -e 'upgrade.*' -n tenants         what goes by
      kamaji-events consumers run --subscriptions subs.yaml

    \b
    RabbitMQ is found by AMQP_URL (amqp://user:password@host:5672/vhost).
    Exit codes: 0 well, 2 something you gave cannot be used, 1 anything else, 130 Ctrl-C.
    """  # noqa: D301 - \b keeps click from filling the lines
