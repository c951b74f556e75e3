"""``kamaji-events publisher run``."""

from pathlib import Path
from typing import Annotated

import typer

from kamaji_events.cli.amqp import AmqpUrl
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run as run_coroutine
from kamaji_events.cli.service import ConfigFile, HealthPort, LogFormat, LogLevel, start_logs

__all__ = ["app"]

app = new_app("Watch a management cluster and publish what happens to its control planes.", group=True)


@app.command()
def run(
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="NAME", help="The management cluster's name in every event: a-z, 0-9, '-'."),
    ] = None,
    config: ConfigFile = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="By default KUBECONFIG, the pod's account, ~/.kube/config.")
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="A context of the kubeconfig.")] = None,
    instance: Annotated[
        str | None, typer.Option(metavar="NAME", help="This replica; the host's name by default.")
    ] = None,
    watch_secrets: Annotated[
        bool | None, typer.Option("--watch-secrets/--no-watch-secrets", help="Look for leftover Secrets on deletion.")
    ] = None,
    announce_existing: Annotated[
        bool | None, typer.Option("--announce-existing/--no-announce-existing", help="Tell of objects found at first.")
    ] = None,
    journal: Annotated[
        bool | None, typer.Option("--journal/--no-journal", help="Keep the memory in the broker; without, one replica.")
    ] = None,
    prefix: Annotated[str | None, typer.Option(metavar="WORD", help="First word of exchange and queues.")] = None,
    url: AmqpUrl = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    health_port: HealthPort = None,
) -> None:
    """Watch TenantControlPlanes and DataStores, and publish what happens.

    Reads only: get, list and watch on Kamaji's kinds, list on what they own. Any number of replicas may run for one
    cluster; one leads, the others take over. Every option is also a variable KAMAJI_EVENTS_<NAME> and a key of the
    YAML file; docs/settings.md lists all of them.

    \b
    Examples:
      kamaji-events publisher run --cluster eu-1
      KAMAJI_EVENTS_CONFIG=publisher.yaml AMQP_URL=amqp://... kamaji-events publisher run
    """  # noqa: D301 - \b keeps click from filling the lines
    from publisher.settings import PublisherSettings

    settings = PublisherSettings.load(
        config=config,
        cluster=cluster,
        kubeconfig=kubeconfig,
        context=context,
        instance=instance,
        watch_secrets=watch_secrets,
        announce_existing=announce_existing,
        journal=journal,
        prefix=prefix,
        amqp_url=url,
        log_level=log_level,
        log_format=log_format,
        health_port=health_port,
    )
    start_logs(settings, "publisher")
    from publisher.run import run as run_publisher

    run_coroutine(run_publisher(settings), service=True)
