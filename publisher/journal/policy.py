"""When the journal does what."""

from dataclasses import dataclass

from kamaji_events.broker.rebinding import REBIND

__all__ = ["JournalPolicy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPolicy:
    """Seconds, messages and bytes after which something is done."""

    timeout: float = 30.0
    """Seconds without any confirm after which the same bytes are sent again."""
    renew: float = 300.0
    """Seconds after which what is held is written anew; must stay well under the broker's consumer_timeout (30 min
    by default), which takes the token from whoever holds a message for longer."""
    idle: float = 1.0
    """Seconds without a batch after which it is noted that the last one is out."""
    most_messages: int = 5000
    """Messages held, after which a new base is written; a journal must stay under 60,000."""
    most_bytes: int = 32 * 1024 * 1024
    """Bytes of deltas, after which a new base is written."""
    patience: float = 30.0
    """Seconds for which a journal that is empty or has a gap is read again: the former leader's connection, while
    the broker believes in it, may still hold what is missing."""
    settle: float = 2.0
    """Seconds that a new queue is given before it is trusted."""
    look: float = 5.0
    """Seconds between looks whether somebody deleted the events exchange while nothing is published."""
    grace: float = REBIND + 5.0
    """Seconds for which nothing is published once the events exchange had to be made anew, so that everybody binds
    again first."""
