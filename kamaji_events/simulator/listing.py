"""LIST and GET: consistent pages out of the store."""

from bisect import bisect_right

from kamaji_events.simulator.history import Expired
from kamaji_events.simulator.kinds import Kind
from kamaji_events.simulator.options import Continue, Options
from kamaji_events.simulator.refusal import expired, not_found, too_large
from kamaji_events.simulator.selection import Selection
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.version import Version
from kamaji_events.simulator.views import View

__all__ = ["get_one", "list_page"]

_TOO_OLD_TO_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_TOO_OLD = "The resourceVersion for the provided list is too old."


def get_one(store: Store, kind: Kind, namespace: str | None, name: str, view: View) -> bytes:
    """The answer to a GET.

    Raises:
        Refusal: there is no such object.
    """
    version = store.version_of(kind.plural, namespace, name)
    if version is None:
        raise not_found(kind, name)
    return view.one(version)


def list_page(store: Store, kind: Kind, options: Options, selection: Selection, view: View) -> bytes:
    """The answer to a LIST: one page of it when a limit is given.

    Raises:
        Refusal: the version or the token is too old, or newer than the store's.
    """
    if options.number and options.number > store.version:
        raise too_large(options.number, store.version)
    number, state = _state(store, kind, options)
    keys = sorted(state)
    if options.following:
        keys = keys[bisect_right(keys, options.following.start) :]
    page, left = _page([state[key] for key in keys], selection, options.limit)
    following = Continue(number, page[-1].key).token() if left else ""
    return view.many(page, number, following, None if selection.narrows else len(left))


def _page(versions: list[Version], selection: Selection, limit: int) -> tuple[list[Version], list[Version]]:
    selected = [version for version in versions if selection.matches(version)]
    return (selected[:limit], selected[limit:]) if limit else (selected, [])


def _state(store: Store, kind: Kind, options: Options) -> tuple[int, dict[str, Version]]:
    following = options.following
    try:
        if following and following.number >= 0:
            return following.number, store.state(kind.plural, following.number)
        if options.match == "Exact" and options.number is not None:
            return options.number, store.state(kind.plural, options.number)
    except Expired as error:
        if following:
            raise expired(_TOO_OLD_TO_CONTINUE, continue_=Continue(-1, following.start).token()) from error
        raise expired(_TOO_OLD) from error
    return store.version, store.state(kind.plural)
