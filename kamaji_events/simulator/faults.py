"""What goes wrong, on demand: standing faults that requests run into, and blows to the watches that are open."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kamaji_events.simulator.asked import Asked
from kamaji_events.simulator.refusal import Refusal, expired, forbidden, unauthorized
from kamaji_events.simulator.store import Store
from kamaji_events.simulator.wire import OpenWatch

if TYPE_CHECKING:
    from kamaji_events.simulator.storage import Snapshot

__all__ = ["Faults"]

_TOO_OLD = "too old resource version: 1 (2)"
_GARBAGE = b"<html>504 Gateway Time-out</html>\n"


@dataclass
class _Rule:
    refusal: Refusal
    verb: str | None
    resource: str | None
    left: int | None
    """Times that it still holds; None for ever."""
    empty: bool = False
    as_line: bool = False

    def holds(self, asked: Asked) -> bool:
        return self.verb in {None, asked.verb} and self.resource in {None, asked.kind.plural} and self.left != 0


class Faults:
    """Faults of one simulator.

    Wherever ``verb`` or ``resource`` is left out, every one is meant. ``times`` is how often a fault strikes, None for
    until ``heal``.

    Args:
        store: what is served.
        watches: the open watches, kept by the server.
        token: the bearer token that is asked for, None for none.
    """

    def __init__(self, store: Store, watches: set[OpenWatch], token: str | None) -> None:
        self._store = store
        self._watches = watches
        self._tokens = {token} if token else None
        self._rules: list[_Rule] = []
        self._forbidden: set[tuple[str, str]] = set()
        self._snapshots: dict[str, Snapshot] = {}
        self._cut_answers = 0
        self.thawed = asyncio.Event()
        """Unset while half open."""
        self.thawed.set()
        self.missing: set[str] = set()
        """Plurals whose definition is not installed."""
        self.latency = 0.0
        """Seconds before each answer."""
        self.rate: float | None = None
        """Bytes a second of each answer, None for as many as it can."""

    # -- requests run into these

    def refuse(
        self,
        status: int,
        *,
        verb: str | None = None,
        resource: str | None = None,
        retry_after: float | None = None,
        body: bool = True,
        times: int | None = 1,
    ) -> None:
        """Answer requests with an error, such as 429 or 503.

        Args:
            status: HTTP status code.
            verb: see the class.
            resource: see the class.
            retry_after: seconds of a Retry-After header.
            body: False sends no body, as a real server's overload protection does.
            times: see the class.
        """
        headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        refusal = Refusal(status, _REASONS.get(status, ""), f"simulated {status}", headers=headers)
        self._rules.append(_Rule(refusal, verb, resource, times, empty=not body))

    def expire(self, resource: str | None = None, *, as_line: bool = True, times: int | None = 1) -> None:
        """Answer the next watches with 410: as an ERROR line in a 200 stream, or as a status."""
        self._rules.append(_Rule(expired(_TOO_OLD), "watch", resource, times, as_line=as_line))

    def forbid(self, verb: str, resource: str) -> None:
        """Take a right away; ``*`` is every verb."""
        self._forbidden.add((verb, resource))

    def allow(self, verb: str, resource: str) -> None:
        """Give a right back."""
        self._forbidden.discard((verb, resource))

    def require_token(self, *tokens: str) -> None:
        """Accept only these bearer tokens from now on; none of them is accepted when none is named."""
        self._tokens = set(tokens)

    def cut_answers(self, times: int = 1) -> None:
        """Cut the connection in the middle of the next answers that are not watches."""
        self._cut_answers += times

    def freeze(self) -> None:
        """Half open: no byte goes out any more, nothing is closed."""
        self.thawed.clear()

    def thaw(self) -> None:
        """Let bytes go again."""
        self.thawed.set()

    async def remove_crd(self, resource: str) -> None:
        """Uninstall a definition with all its objects; its watches are told and end."""
        kind_state = dict(self._store.state(resource))
        for version in kind_state.values():
            self._store.remove(version)
        self.missing.add(resource)
        await self.end(resource)

    def install_crd(self, resource: str) -> None:
        """Install a definition again."""
        self.missing.discard(resource)

    def heal(self) -> None:
        """End every standing fault; tokens stay as they are."""
        self._rules.clear()
        self._forbidden.clear()
        self.missing.clear()
        self._cut_answers, self.latency, self.rate = 0, 0.0, None
        self.thaw()

    # -- blows

    async def expire_open(self, resource: str | None = None) -> None:
        """Tell open watches a 410 as an ERROR line, and end them."""
        await self._last_words(resource, expired(_TOO_OLD).line())

    async def cut(self, resource: str | None = None, *, mid_line: bool = False) -> None:
        """Reset the connections of open watches, between lines or in the middle of one."""
        for watch in self._hit(resource):
            if mid_line:
                await watch.break_line()
            watch.abort()

    async def truncate(self, resource: str | None = None) -> None:
        """End open watches in good order, but in the middle of a line."""
        for watch in self._hit(resource):
            await watch.break_line()
            watch.end(at_once=True)

    async def garbage(self, resource: str | None = None, *, line: str | None = None) -> None:
        """Put a line that is no JSON, or any other, into open watches."""
        content = _GARBAGE if line is None else line.encode() + b"\n"
        for watch in self._hit(resource):
            await watch.say(content)

    async def end(self, resource: str | None = None) -> None:
        """End open watches as when their time is over."""
        for watch in self._hit(resource):
            watch.end()

    def lose_deletes(self, resource: str, times: int = 1) -> None:
        """Let the watch cache lose the next deletions of a kind: only a list shows them."""
        self._store.lose_deletes(resource, times)

    def compact(self) -> None:
        """Forget the whole history: whoever resumes from an older version is answered with 410."""
        self._store.compact()

    def snapshot(self, name: str = "snapshot") -> None:
        """Keep the present state under a name, as a backup of etcd does."""
        self._snapshots[name] = self._store.snapshot()

    async def restore(self, name: str = "snapshot") -> None:
        """Go back to a snapshot: resourceVersions go back, connections are cut.

        Raises:
            KeyError: there is none of that name.
        """
        self._store.restore(self._snapshots[name])
        await self.cut()

    # -- asked by the server

    def check(self, asked: Asked | None, authorization: str | None) -> tuple[Refusal, bool, bool] | None:
        """What a request runs into: the refusal, whether its body is left out, whether it is an ERROR line.

        Args:
            asked: what is asked, None for discovery.
            authorization: the Authorization header.
        """
        if self._tokens is not None and (authorization or "").removeprefix("Bearer ") not in self._tokens:
            return unauthorized(), False, False
        if asked is None:
            return None
        if self._forbidden & {(asked.verb, asked.kind.plural), ("*", asked.kind.plural)}:
            return forbidden(asked.kind, asked.verb, asked.namespace, asked.name or ""), False, False
        for rule in self._rules:
            if rule.holds(asked):
                if rule.left is not None:
                    rule.left -= 1
                return rule.refusal, rule.empty, rule.as_line
        return None

    def cuts_answer(self) -> bool:
        """True when this answer is to be cut; counts."""
        if not self._cut_answers:
            return False
        self._cut_answers -= 1
        return True

    async def _last_words(self, resource: str | None, line: bytes) -> None:
        for watch in self._hit(resource):
            await watch.say(line)
            watch.end(at_once=True)

    def _hit(self, resource: str | None) -> Iterator[OpenWatch]:
        return iter([watch for watch in self._watches if resource in {None, watch.resource}])


_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
