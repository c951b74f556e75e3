"""``kamaji-events subscriptions check|test``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kamaji_events.cli.amqp import AmqpUrl
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

if TYPE_CHECKING:
    from consumers.config import Subscription
    from consumers.settings import ConsumerSettings
    from consumers.sinks.base import Outcome
    from consumers.sinks.context import SinkContext
    from kamaji_events.event import Event

__all__ = ["app"]

app = new_app("Check a subscriptions file, send a test event.", group=True)

_FileOption = Annotated[
    Path | None,
    typer.Option("--subscriptions", "-s", metavar="FILE", help="The file; also KAMAJI_EVENTS_SUBSCRIPTIONS."),
]
_Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="ADDRESS", help="As for consumers run: 'loopback', a network. Repeatable."),
]


@app.command()
def check(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The file; also KAMAJI_EVENTS_SUBSCRIPTIONS.")
    ] = None,
    allow: _Allow = None,
) -> None:
    """Check a subscriptions file as a start of the consumers would, without connecting anywhere.

    Every key, pattern, sink and secret is looked at. A mistake is told with file, line, key and cure, and the exit
    code is 2; else each subscription is shown in one line.
    """
    from consumers.config import load_config

    settings = _settings(file, allow, None)
    config = load_config(settings.subscriptions)
    run(_build_all(config.subscriptions, settings))
    for subscription in config.subscriptions:
        sys.stdout.write(f"{_shown(subscription)}\n")
    sys.stdout.write(f"{settings.subscriptions}: {len(config.subscriptions)} subscriptions, nothing wrong\n")


@app.command("test")
def send(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The subscription.")],
    subscriptions: _FileOption = None,
    event: Annotated[
        str, typer.Option("--event", "-e", metavar="EVENT", help="Which event to make up, e.g. 'outage.started'.")
    ] = "upgrade.completed",
    allow: _Allow = None,
    url: AmqpUrl = None,
) -> None:
    """Send a made-up event to one receiver, once, the way a real one goes: egress guard, signature and all.

    Its object is tenants/kamaji-events-test in cluster "test", its reason says that it is a test, and its id is
    another each time. Nothing passes through RabbitMQ, but for a queue sink.
    """
    from consumers.config import load_config
    from kamaji_events.cli.made_up import made_up

    settings = _settings(subscriptions, allow, url)
    subscription = load_config(settings.subscriptions).get(name)
    made = made_up(event)
    outcome = run(_deliver(subscription, settings, made))
    if outcome is None:
        return
    sys.stdout.write(f"{type(outcome).__name__.lower()}: {_told(outcome)}\n")
    if type(outcome).__name__ != "Delivered":
        raise typer.Exit(1)


def _settings(file: Path | None, allow: list[str] | None, url: str | None) -> "ConsumerSettings":
    from consumers.settings import ConsumerSettings

    return ConsumerSettings.load(subscriptions=file, allow=allow or None, amqp_url=url)


async def _build_all(subscriptions: "tuple[Subscription, ...]", settings: "ConsumerSettings") -> None:
    from consumers.crew import make_sink

    for subscription in subscriptions:
        await make_sink(subscription, _context(settings)).aclose()


def _context(settings: "ConsumerSettings") -> "SinkContext":
    from consumers.sinks.context import SinkContext

    return SinkContext(allow=settings.allow, amqp_url=settings.amqp_url.get_secret_value())


def _shown(subscription: "Subscription") -> str:
    wanted = subscription.filter
    parts = [", ".join(wanted.events) or "every event"]
    parts += [f"{word} {', '.join(names)}" for word, names in _narrowed(subscription) if names]
    if not subscription.enabled:
        parts.append("not enabled: events gather")
    policy = subscription.policy
    return (
        f"{subscription.name}: {'; '.join(parts)} -> {subscription.sink} "
        f"({policy.tries} tries, {policy.concurrency} at a time)"
    )


def _narrowed(subscription: "Subscription") -> list[tuple[str, tuple[str, ...]]]:
    wanted = subscription.filter
    labels = (wanted.labels,) if wanted.labels else ()
    return [("in clusters", wanted.clusters), ("in namespaces", wanted.namespaces), ("with labels", labels)]


async def _deliver(subscription: "Subscription", settings: "ConsumerSettings", event: "Event") -> "Outcome":
    import asyncio

    from consumers.crew import make_sink
    from consumers.sinks.base import Delivery, Failed

    sink = make_sink(subscription, _context(settings))
    try:
        async with asyncio.timeout(subscription.policy.timeout):
            return await sink.deliver(Delivery(event, subscription.name))
    except TimeoutError:
        return Failed(f"no outcome within {subscription.policy.timeout:g} s")
    finally:
        await sink.aclose()


def _told(outcome: "Outcome") -> str:
    return str(getattr(outcome, "error", "") or getattr(outcome, "detail", "") or "the receiver has it")
