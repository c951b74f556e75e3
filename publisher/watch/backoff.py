"""How long to wait before trying again."""

import random
from dataclasses import dataclass, field

__all__ = ["Backoff"]

_MOST_ASKED = 300.0
"""Seconds that a server's Retry-After is obeyed at most: a mistaken one must not make us deaf."""


@dataclass(slots=True)
class Backoff:
    """Growing waits with jitter, so that a thousand clients of a restarted server do not come back at once.

    The n-th wait in a row lies between half and all of ``base * 2**(n-1)``, at most ``most``; a longer Retry-After
    is obeyed, with up to a quarter on top.
    """

    base: float = 1.0
    """Seconds of the first wait at most."""
    most: float = 30.0
    """Seconds of any wait at most, unless the server asks for more."""
    rng: random.Random = field(default_factory=random.Random)
    failures: int = 0
    """Failures in a row."""

    def failed(self, *, asked: float | None = None, most: float | None = None) -> float:
        """Count a failure and say how many seconds to wait.

        Args:
            asked: what the server's Retry-After says.
            most: a smaller bound for this failure.
        """
        self.failures += 1
        bound = self.most if most is None else min(most, self.most)
        # 2.0 ** 1024 overflows; long before that the bound rules
        full = min(bound, self.base * 2.0 ** min(self.failures - 1, 64))
        wait = full * (0.5 + 0.5 * self.rng.random())
        if asked is None:
            return wait
        return max(wait, min(asked, _MOST_ASKED) * (1.0 + 0.25 * self.rng.random()))

    def worked(self) -> None:
        """Forget the failures: things have gone well for long enough."""
        self.failures = 0
