"""``kamaji-events demo``: all of it on this machine, in half a minute."""

import sys
from typing import Annotated

import typer

from kamaji_events.cli.amqp import AmqpUrl
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

__all__ = ["app"]

app = new_app("See it work.")


@app.command()
def demo(
    objects: Annotated[
        int, typer.Option(min=1, max=500, metavar="N", help="Tenant control planes in the simulated fleet.")
    ] = 8,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the summary, not each event.")] = False,
    url: AmqpUrl = None,
) -> None:
    """See it work: a simulated fleet, the publisher, RabbitMQ, a consumer, and a receiver that checks what it gets.

    Takes about half a minute and leaves nothing behind, also on Ctrl-C. RabbitMQ is the one of AMQP_URL if that is
    set; else a private node of the rabbitmq-server on this machine; else one in Docker. No cluster is needed.

    The exit code is 0 only if every event that was published arrived, signed, once, without a gap.
    """
    from kamaji_events.cli.demo.stage import DemoOptions, play
    from kamaji_events.logs import configure

    configure("warning", "text")
    summary = run(play(DemoOptions(objects=objects, show=not quiet, amqp_url=url)))
    if summary is None:
        return
    sys.stdout.write("\n" + "\n".join(summary.lines()) + "\n")
    if summary.problems():
        raise typer.Exit(1)
