"""How a reflector is doing: its problem, its waits, and since when nobody watched."""

import asyncio
import logging

from kamaji_events.errors import ClusterUnavailable, KamajiEventsError, KindMissing
from publisher.watch.backoff import Backoff
from publisher.watch.policy import WatchPolicy
from publisher.watch.stats import WatchStats
from publisher.watch.stream import StreamSilentError

__all__ = ["Condition"]

_log = logging.getLogger(__name__)


class Condition:
    """What is wrong, if anything, and how long to wait because of it. Times are the loop's.

    Args:
        name: the kind, for logs.
        policy: bounds.
        backoff: gives the waits.
        stats: counts.
    """

    def __init__(self, name: str, policy: WatchPolicy, backoff: Backoff, stats: WatchStats) -> None:
        self._name = name
        self._policy = policy
        self._backoff = backoff
        self._stats = stats
        self._opened_at: float | None = None
        self._blind_since: float | None = None
        self._told: str | None = None
        self.problem: str | None = "nothing was read yet"
        """What keeps changes from being read; None when all is well."""

    @property
    def troubled(self) -> bool:
        """True while failures follow each other."""
        return self._backoff.failures > 0

    def opened(self) -> None:
        """A watch was accepted."""
        self._opened_at = asyncio.get_running_loop().time()
        self.problem = None

    def seeing(self) -> None:
        """Changes come: nothing is missed from here on."""
        self._blind_since = None
        if self._told is not None:
            self._told = None
            _log.info("%s are watched again", self._name, extra={"resource": self._name})

    def unwatched(self) -> float:
        """Seconds during which nobody watched, up to now."""
        if self._blind_since is None:
            return 0.0
        return max(0.0, asyncio.get_running_loop().time() - self._blind_since)

    def _lived(self, *, silent: bool = False) -> float:
        """Seconds that the watch lived which has just ended; long enough ends the row of failures.

        Args:
            silent: it was dead since its last byte, not only from now on.
        """
        now = asyncio.get_running_loop().time()
        lived = now - self._opened_at if self._opened_at is not None else 0.0
        if silent and self._blind_since is None:
            self._blind_since = self._stats.heard
        elif self._opened_at is not None and (self._blind_since is None or lived >= self._policy.stable):
            self._blind_since = now
        self._opened_at = None
        if lived >= self._policy.stable:
            self._backoff.worked()
        return lived

    def ended(self, asked: float) -> float:
        """The server ended a watch without a word; gives the seconds to wait.

        Args:
            asked: the timeoutSeconds that it was to live.
        """
        lived = self._lived()
        if lived >= asked - self._policy.grace:
            return 0.0
        self._stats.reconnects += 1
        if lived < self._policy.stable:
            self._tell("the server accepts the watch and ends it at once")
        return self._backoff.failed()

    def failed(self, error: KamajiEventsError, *, gently: bool) -> float:
        """Something went wrong; gives the seconds to wait.

        Args:
            error: what.
            gently: do not wait for the first one in a row.
        """
        self._lived(silent=isinstance(error, StreamSilentError))
        self._stats.failures += 1
        self._tell(str(error))
        first = not self.troubled
        wait = self._backoff.failed(
            asked=error.retry_after if isinstance(error, ClusterUnavailable) else None,
            most=self._policy.missing_most if isinstance(error, KindMissing) else None,
        )
        return 0.0 if first and gently else wait

    def _tell(self, problem: str) -> None:
        text = " ".join(problem.split())
        if text != self._told:
            _log.warning("%s: %s", self._name, text, extra={"resource": self._name})
        self.problem = self._told = text
