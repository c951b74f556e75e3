"""Where a reflector stands: the version up to which everything was given out, and whether it can be trusted."""

import random
from dataclasses import dataclass, field

from kamaji_events.errors import KindMissing, ResourceExpired
from publisher.watch.policy import WatchPolicy
from publisher.watch.stats import WatchStats
from publisher.watch.stream import StreamBrokenError

__all__ = ["Position"]

_BROKEN_MOST = 3
"""Broken streams in a row, without a change between them, before the version itself is doubted."""
_LARGEST_PAGE = 16_000
"""Page beyond which everything is asked for at once."""


@dataclass(slots=True)
class Position:
    """What one attempt leaves to the next."""

    policy: WatchPolicy
    stats: WatchStats
    rng: random.Random
    version: str | None = None
    """None: list first."""
    known: str | None = field(init=False)
    """The latest version that the server gave out; kept while ``version`` is None."""
    unsure: bool = True
    """True when the server may have become another one since ``version`` was heard."""
    rewound_from: str | None = None
    """The version that the server was found behind of; until the next list begins."""
    page: int = 0
    """Objects of a page of the next list; grows while lists expire; 0 asks for everything at once."""
    compare_at: float = float("inf")
    """Loop time of the next slow compare."""
    compare: bool = field(default=False, init=False)
    """True when the next list is the slow compare."""
    broken: int = field(default=0, init=False)
    """Broken streams since the last change."""

    def __post_init__(self) -> None:
        self.known = self.version

    def moved(self, version: str) -> None:
        """A change or bookmark was read."""
        self.version = self.known = version or self.version
        self.broken = 0

    def listed(self, version: str, now: float) -> None:
        """A list is complete as of a version."""
        self.version = self.known = version or None
        self.compare = False
        self.unsure = False
        self.page = self.policy.page
        self.stats.syncs += 1
        self.schedule(now)

    def schedule(self, now: float) -> None:
        """Put the slow compare off by its interval, give or take 10 %."""
        self.compare_at = now + self.policy.compare_interval * (0.9 + 0.2 * self.rng.random())

    def rewound(self) -> None:
        """The server is behind what it once gave out."""
        self.stats.rewound += 1
        self.rewound_from = self.known
        self.known = None
        self._relist()

    def settled(self) -> None:
        """The server is not behind: list now if that is due."""
        if self.compare:
            self.version = None

    def ended(self, *, in_time: bool, now: float) -> None:
        """A watch ended without an error; ``in_time``: when it was to."""
        self.unsure = not in_time
        self._compare_if_due(now)

    def failed(self, error: Exception, now: float) -> None:
        """An attempt ended in an error."""
        self.unsure = True
        self._compare_if_due(now)
        match error:
            case ResourceExpired():
                self.stats.expired += 1
                self._grow_page()
                self._relist()
            case KindMissing():
                self._relist()
            case StreamBrokenError():
                self.broken += 1
                if self.broken >= _BROKEN_MOST:
                    self.broken = 0
                    self._relist()
            case _:
                pass

    def _compare_if_due(self, now: float) -> None:
        """List anew when the slow compare is due."""
        if self.version is not None and now >= self.compare_at:
            self.stats.compares += 1
            self.compare = self.unsure = True
            self.schedule(now)

    def _relist(self) -> None:
        if self.version is not None:
            self.stats.relists += 1
        self.version = None

    def _grow_page(self) -> None:
        """A list that expired between its pages gets larger ones, and fewer of them."""
        if self.version is None:
            self.page = self.page * 2 if 0 < self.page * 2 <= _LARGEST_PAGE else 0
