"""The event contract of Kamaji control planes and its Python client.

``subscribe``, ``Event`` and the errors are what a subscriber needs; everything is loaded when it is first used, so
that importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kamaji_events.client import subscribe
    from kamaji_events.event import Event
    from kamaji_events.filter import Filter

__all__ = ["Event", "Filter", "__version__", "subscribe"]

__version__ = "0.1.0"

_HOMES = {"Event": "kamaji_events.event", "Filter": "kamaji_events.filter", "subscribe": "kamaji_events.client"}


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(import_module(home), name)
