"""``kamaji-events subscriptions check|test|list|pause|resume``."""

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kamaji_events.cli.amqp import AmqpUrl, Prefix, amqp_url
from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from consumers.config import Subscription
    from consumers.control import Control
    from consumers.settings import ConsumerSettings
    from consumers.sinks.base import Outcome
    from consumers.sinks.context import SinkContext
    from kamaji_events.event import Event

__all__ = ["app"]

app = new_app("Subscriptions: check a file, try a receiver, see how deliveries do, pause and resume.", group=True)

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


@app.command("list")
def list_(
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """List the subscriptions that workers serve: status, events that wait, dead letters, the last error."""
    run(_list(amqp_url(url), prefix, as_json=json))


@app.command()
def resume(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The subscription.")],
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Deliver again, after a pause or after the receiver answered 410 Gone; all workers follow at once."""
    if run(_resume(amqp_url(url), prefix, name)):
        sys.stdout.write(f"{name} is delivered again\n")
    else:
        sys.stdout.write(f"{name} was neither paused nor disabled\n")


@app.command()
def pause(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The subscription.")],
    why: Annotated[str, typer.Option(metavar="TEXT", help="Shown by list, told in the event.")] = "",
    prefix: Prefix = "kamaji",
    url: AmqpUrl = None,
) -> None:
    """Deliver nothing until it is resumed; events wait in its queue."""
    if run(_pause(amqp_url(url), prefix, name, why)):
        sys.stdout.write(f"{name} is paused; resume it with: kamaji-events subscriptions resume {name}\n")
    else:
        sys.stdout.write(f"{name} was paused or disabled already\n")


@asynccontextmanager
async def _control(url: str, prefix: str) -> "AsyncIterator[Control]":
    from consumers.control import open_control
    from consumers.topology import House
    from kamaji_events.broker.topology import Layout

    async with open_control(url, House(Layout(prefix))) as control:
        yield control


async def _list(url: str, prefix: str, *, as_json: bool) -> None:
    async with _control(url, prefix) as control:
        for name in sorted(control.states):
            state = control.state(name)
            facts = {
                "name": name,
                "status": "removed" if state.removed else str(state.status),
                "suspended": state.suspended is not None,
                "waiting": await control.waiting(name),
                "dead": await control.dead(name),
                "error": state.error,
            }
            sys.stdout.write(f"{_status_json(facts) if as_json else _status(facts)}\n")


def _status_json(facts: dict[str, Any]) -> str:
    import orjson

    return orjson.dumps(facts).decode()


def _status(facts: dict[str, Any]) -> str:
    status = f"{facts['status']}, suspended" if facts["suspended"] else facts["status"]
    text = f"{facts['name']:24}  {status:10}  {facts['waiting']:8} waiting  {facts['dead']:6} dead"
    return f"{text}  {facts['error']}".rstrip()


async def _resume(url: str, prefix: str, name: str) -> bool:
    async with _control(url, prefix) as control:
        return await control.resume(name)


async def _pause(url: str, prefix: str, name: str, why: str) -> bool:
    async with _control(url, prefix) as control:
        return await control.pause(name, why)


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
