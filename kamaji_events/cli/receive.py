"""``kamaji-events receive``: a webhook receiver to try things with."""

import asyncio
import sys
from typing import Annotated

import typer

from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

__all__ = ["app"]

app = new_app("Receive webhooks and show them.")


@app.command()
def receive(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", envvar="KAMAJI_EVENTS_RECEIVER_HOST", help="Where to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", envvar="KAMAJI_EVENTS_RECEIVER_PORT", min=0, max=65535, help="0 takes any.")
    ] = 8081,
    secret: Annotated[
        str | None,
        typer.Option(
            metavar="WHSEC",
            envvar="KAMAJI_EVENTS_RECEIVER_SECRET",
            help="Secret whose signature each request must carry; better in the variable.",
            show_envvar=True,
        ),
    ] = None,
) -> None:
    """Receive webhooks and show them: a receiver to try a subscription with.

    Takes CloudEvents in structured and binary mode, verifies Standard Webhooks signatures where a secret is given,
    answers 204, and tells copies (one id twice) from new events. What is wrong is answered with 4xx and shown.

    \b
    Example, with `sink: {webhook: {url: http://127.0.0.1:8081/, egress: {allow: [loopback]}}}` in subs.yaml:
      kamaji-events receive &
      kamaji-events consumers run --subscriptions subs.yaml
    """  # noqa: D301 - \b keeps click from filling the lines
    run(_receive(host, port, secret or None))


async def _receive(host: str, port: int, secret: str | None) -> None:
    from kamaji_events.cli.lines import line
    from kamaji_events.cli.receiving import CheckingReceiver
    from kamaji_events.event import Event

    colour = sys.stdout.isatty()

    def show(event: Event) -> None:
        sys.stdout.write(f"{line(event, colour=colour)}\n")
        sys.stdout.flush()

    async with CheckingReceiver(host, port, secret=secret, on_event=show) as receiver:
        sys.stderr.write(f"receiving on {receiver.url}; Ctrl-C ends\n")
        sys.stderr.flush()
        try:
            await asyncio.Event().wait()
        finally:
            tally = receiver.tally
            sys.stderr.write(f"{tally.events} events, {tally.copies} copies, {tally.refused} refused\n")
            sys.stderr.writelines(f"  {problem}\n" for problem in tally.problems)
