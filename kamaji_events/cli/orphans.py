"""``kamaji-events orphans list|show|redrive|purge``: what ``dead`` does, for retries whose subscription is gone."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from kamaji_events.cli import dead
from kamaji_events.cli.lazy import new_app

__all__ = ["app"]

_ORPHANS = "orphans"

app = new_app("Orphans: retries whose subscription is gone, kept until a person decides.", group=True)


def _of_orphans(command: Callable[..., None], **fixed: Any) -> Callable[..., None]:
    """A command of ``dead`` without the parameters whose values are fixed."""

    @wraps(command)
    def call(**given: Any) -> None:
        command(**fixed, **given)

    signature = inspect.signature(command)
    kept = [parameter for name, parameter in signature.parameters.items() if name not in fixed]
    call.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # what inspect looks for
    return call


app.command("list", help="List orphans, the oldest first; they stay where they are.")(
    _of_orphans(dead.list_, subscriptions=[_ORPHANS])
)
app.command("show", help="Show one orphan: how it failed, and the event itself.")(
    _of_orphans(dead.show, subscription=_ORPHANS)
)
app.command(
    "redrive",
    help="Send orphans again, to the subscription of --to or to their own if that is back: the same bytes and ids.\n\n"
    "Example: kamaji-events orphans redrive --to billing --yes",
)(_of_orphans(dead.redrive, subscription=_ORPHANS))
app.command("purge", help="Throw orphans away for good.")(_of_orphans(dead.purge, subscription=_ORPHANS))
