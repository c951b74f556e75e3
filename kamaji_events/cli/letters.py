"""What ``dead`` and ``orphans`` share: choosing, showing, sending again, throwing away."""

import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kamaji_events.cli.lines import duration
from kamaji_events.errors import InputError

if TYPE_CHECKING:
    from consumers.control import Control
    from consumers.dead import Choice, DeadLetter

__all__ = [
    "Age",
    "Error",
    "EventId",
    "EventPattern",
    "Ids",
    "Json",
    "Limit",
    "Name",
    "Namespace",
    "Yes",
    "Younger",
    "choice",
    "confirmed",
    "listed",
    "purged",
    "sent",
    "shown",
]

EventPattern = Annotated[
    list[str] | None, typer.Option("--event", "-e", metavar="PATTERN", help="Two words, '*' for any. Repeatable.")
]
Namespace = Annotated[
    list[str] | None, typer.Option("--namespace", "-n", metavar="NAME", help="Of the object, with '*'. Repeatable.")
]
Name = Annotated[list[str] | None, typer.Option("--name", metavar="NAME", help="Of the object, with '*'. Repeatable.")]
Error = Annotated[str, typer.Option("--error", metavar="TEXT", help="A part of why it died.")]
Age = Annotated[str | None, typer.Option("--older", metavar="DURATION", help="Dead for longer than '1h', '7d' ...")]
Younger = Annotated[str | None, typer.Option("--younger", metavar="DURATION", help="Dead for less than '1h' ...")]
Ids = Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="This event. Repeatable.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most so many, the oldest.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Yes = Annotated[bool, typer.Option("--yes", help="Yes, all that is chosen.")]
EventId = Annotated[str, typer.Argument(metavar="ID", help="The event's id.")]


def choice(  # the options of every command that chooses
    ids: Sequence[str] | None,
    events: Sequence[str] | None,
    namespaces: Sequence[str] | None,
    names: Sequence[str] | None,
    error: str,
    older: str | None,
    younger: str | None,
) -> "Choice":
    """What is meant.

    Raises:
        InputError: an age is no duration, or an event pattern matches nothing.
    """
    from consumers.dead import Choice
    from kamaji_events.filter import Filter

    Filter(events=tuple(events or ()))
    return Choice(
        ids=frozenset(ids or ()),
        events=tuple(events or ()),
        namespaces=tuple(namespaces or ()),
        names=tuple(names or ()),
        error=error,
        older=_seconds("--older", older),
        younger=_seconds("--younger", younger),
    )


def _seconds(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    from kamaji_events.duration import seconds

    try:
        return float(str(seconds(text)))
    except ValueError as problem:
        raise InputError(f"{option} {text!r}: {problem}") from problem


def confirmed(*, yes: bool, meant: "Choice", limit: int | None, what: str) -> None:
    """Everything at once needs a yes.

    Raises:
        InputError: nothing narrows it down and there was no yes.
    """
    from consumers.dead import Choice

    if not yes and limit is None and meant == Choice():
        raise InputError(f"this {what}: choose with --id, --event, --namespace ..., or give --yes")


@asynccontextmanager
async def _control(url: str, prefix: str) -> "AsyncIterator[Control]":
    from consumers.control import open_control
    from consumers.topology import House
    from kamaji_events.broker.topology import Layout

    async with open_control(url, House(Layout(prefix))) as control:
        yield control


async def listed(url: str, prefix: str, names: Sequence[str], meant: "Choice", limit: int, *, json: bool) -> None:
    """Print the letters of these subscriptions; of none means of all that have some."""
    from consumers.dead import DeadLetters

    async with _control(url, prefix) as control:
        letters = DeadLetters(control)
        total = 0
        for name in names or [name for name in sorted(control.states) if await control.dead(name)]:
            found = await letters.list(name, meant, most=limit)
            total += len(found)
            for letter in found:
                sys.stdout.write(f"{_as_json(letter) if json else _line(letter)}\n")
    if not json:
        sys.stdout.write(f"{total} letters\n")


def _line(letter: "DeadLetter") -> str:
    event = letter.event
    age = duration(max(0.0, time.time() - letter.died_at)) if letter.died_at else "?"
    what = f"{event.name:22}  {event.subject or '-'}" if event else f"{len(letter.body)} bytes that are no event"
    told = f"{letter.why}: {letter.error}" if letter.why else letter.error
    return _printable(f"{letter.subscription:16}  {age:>6} ago  {what}  {letter.id}  {letter.tries} tries  {told}")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _facts(letter: "DeadLetter") -> dict[str, Any]:
    return {
        "id": letter.id,
        "subscription": letter.subscription,
        "event": letter.event.name if letter.event else None,
        "subject": letter.event.subject if letter.event else None,
        "why": letter.why,
        "error": letter.error,
        "diedAt": letter.died_at,
        "firstFailure": letter.first_failure,
        "tries": letter.tries,
    }


def _as_json(letter: "DeadLetter") -> str:
    import orjson

    return orjson.dumps(_facts(letter)).decode()


async def shown(url: str, prefix: str, name: str, event_id: str) -> None:
    """Print one letter: why it died, then its bytes.

    Raises:
        InputError: there is none of this id.
    """
    from consumers.dead import DeadLetters

    async with _control(url, prefix) as control:
        letter = await DeadLetters(control).show(name, event_id)
    if letter is None:
        raise InputError(f"{name}: no letter with id {event_id!r}; see the ids with 'list'")
    for key, value in _facts(letter).items():
        sys.stdout.write(_printable(f"{key:12}  {value}") + "\n")
    sys.stdout.write(f"\n{letter.body.decode(errors='replace')}\n")


async def sent(url: str, prefix: str, name: str, meant: "Choice", *, to: str | None, limit: int | None) -> int:
    """Send letters again; how many."""
    from consumers.dead import DeadLetters

    async with _control(url, prefix) as control:
        return await DeadLetters(control).redrive(name, meant, to=to, most=limit)


async def purged(url: str, prefix: str, name: str, meant: "Choice", *, limit: int | None) -> int:
    """Throw letters away; how many."""
    from consumers.dead import DeadLetters

    async with _control(url, prefix) as control:
        return await DeadLetters(control).purge(name, meant, most=limit)
