"""``kamaji-events consumers run``."""

from pathlib import Path
from typing import Annotated

import typer

from kamaji_events.cli.amqp import AmqpUrl
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run as run_coroutine
from kamaji_events.cli.service import ConfigFile, HealthPort, LogFormat, LogLevel, start_logs

__all__ = ["app"]

app = new_app("Deliver events to webhooks, Slack, queues and plug-ins.", group=True)


@app.command()
def run(
    subscriptions: Annotated[
        Path | None,
        typer.Option("--subscriptions", "-s", metavar="FILE", help="Subscriptions; read again when it changes."),
    ] = None,
    config: ConfigFile = None,
    instance: Annotated[
        str | None, typer.Option(metavar="NAME", help="This worker; the host's name by default.")
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="NAME", help="Workers of one group share one file.")] = None,
    prefix: Annotated[str | None, typer.Option(metavar="WORD", help="First word of exchange and queues.")] = None,
    prune: Annotated[
        bool | None, typer.Option("--prune/--no-prune", help="Delete queues whose subscription left the file.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="ADDRESS", help="Let sinks reach e.g. 'loopback' or a network. Repeatable."),
    ] = None,
    url: AmqpUrl = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    health_port: HealthPort = None,
) -> None:
    """Deliver events to the receivers of a subscriptions file.

    Each subscription has a queue of its own in the broker, and workers compete for it: run as many as you like. What
    fails is tried again later, for about a day, and then becomes a dead letter (kamaji-events dead --help). A change
    of the file takes effect within seconds; check it first with: kamaji-events subscriptions check FILE

    \b
    Examples:
      kamaji-events consumers run --subscriptions subs.yaml
      KAMAJI_EVENTS_SUBSCRIPTIONS=subs.yaml AMQP_URL=amqp://... kamaji-events consumers run

    \b
    The smallest subs.yaml:
      subscriptions:
        - name: billing
          filter: {events: ["upgrade.completed", "delete.*"]}
          sink: {webhook: {url: https://billing.example/hooks}}
    """  # noqa: D301 - \b keeps click from filling the lines
    from consumers.settings import ConsumerSettings

    settings = ConsumerSettings.load(
        config=config,
        subscriptions=subscriptions,
        instance=instance,
        group=group,
        prefix=prefix,
        prune=prune,
        allow=allow or None,
        amqp_url=url,
        log_level=log_level,
        log_format=log_format,
        health_port=health_port,
    )
    start_logs(settings, "consumers")
    from consumers.run import run as run_consumers

    run_coroutine(run_consumers(settings), service=True)
