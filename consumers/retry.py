"""Delays as hops through shared tiers, towards a time that the message itself carries.

Each tier is one delay queue of a power of two seconds, shared by all subscriptions. A delay is made of hops: the
longest tier that fits into what is left, and again when the message is back, until its time has come. So the broker
keeps the time, a short delay never waits behind a long one, and waiting costs a worker nothing. Hops are not tries.
"""

from collections.abc import Sequence

from kamaji_events.broker.topology import TIERS

__all__ = ["SLACK", "next_tier", "tier_hops"]

SLACK = 0.1
"""Seconds that an event may come early: less is not worth a hop."""


def next_tier(left: float, tiers: Sequence[int] = TIERS) -> int | None:
    """The tier for the next hop.

    Args:
        left: seconds until the message's time.
        tiers: the tiers that exist, in seconds, ascending.

    Returns:
        Seconds of the longest tier that does not overshoot; the shortest when less than that is left; None when
        the time has come.
    """
    if left <= SLACK:
        return None
    return next((tier for tier in reversed(tiers) if tier <= left), tiers[0])


def tier_hops(delay: float, tiers: Sequence[int] = TIERS) -> tuple[int, ...]:
    """All hops of a delay, when each takes exactly its time."""
    hops = []
    while (tier := next_tier(delay, tiers)) is not None:
        hops.append(tier)
        delay -= tier
    return tuple(hops)
