"""How patient a reflector is, in numbers."""

from dataclasses import dataclass

__all__ = ["WatchPolicy"]


@dataclass(frozen=True, slots=True)
class WatchPolicy:
    """Bounds of a reflector; the defaults suit a real API server."""

    page: int = 500
    """Objects of one LIST answer: about 4 MB."""
    streaming: bool = True
    """Try a streaming list (``sendInitialEvents``) first; a server that has none is found out."""
    watch_seconds: float = 300.0
    """What a watch asks for as timeoutSeconds at most; each asks for 80 to 100 % of it."""
    grace: float = 30.0
    """Seconds beyond timeoutSeconds after which a watch is ended from here."""
    silence: float = 150.0
    """Seconds without a line after which a watch is dead, on a server that sends a bookmark each minute."""
    list_silence: float = 20.0
    """Seconds without a line after which a streaming list is given up for a paged one."""
    stable: float = 10.0
    """Seconds that a watch must live to count as a success."""
    backoff_base: float = 1.0
    """See ``Backoff.base``."""
    backoff_most: float = 30.0
    """See ``Backoff.most``."""
    missing_most: float = 5.0
    """Seconds between two looks for a CRD that is not installed at most: what is created meanwhile is not announced."""
    compare_interval: float = 6 * 3600.0
    """Seconds between two lists that repair what a watch cache lost, give or take 10 %."""
    stuck_after: float = 900.0
    """Seconds without any activity after which a reflector counts as stuck: more than any wait above."""
