"""What the clock alone decides about one TenantControlPlane, and when it does."""

from publisher.lifecycle.bootstrap import bootstrap_due, judge_bootstrap_failure
from publisher.lifecycle.farewell import farewell_due
from publisher.lifecycle.looping import judge_settled, settled_due
from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.policy import Policy
from publisher.lifecycle.readiness import judge_outage, outage_due
from publisher.lifecycle.stalled import judge_stalled, limit_of, stalled_due
from publisher.lifecycle.surroundings import Surroundings
from publisher.lifecycle.teller import Teller

__all__ = ["asks", "due", "due_after", "strike"]


def due(memory: TcpMemory, policy: Policy) -> float | None:
    """When the clock may decide something, if nothing changes."""
    times = (
        stalled_due(memory, policy),
        outage_due(memory, policy),
        settled_due(memory),
        bootstrap_due(memory),
        farewell_due(memory, policy),
    )
    return min((at for at in times if at is not None), default=None)


def due_after(memory: TcpMemory, now: float, policy: Policy) -> float | None:
    """The same once the clock has struck: never at once again."""
    at = due(memory, policy)
    return None if at is None else max(at, now + 1.0)


def strike(memory: TcpMemory, teller: Teller, policy: Policy, around: Surroundings) -> None:
    """Say what follows from the time, in the contract's order."""
    judge_stalled(memory, teller, policy, around)
    judge_outage(memory, teller, policy)
    judge_settled(memory, teller)
    judge_bootstrap_failure(memory, teller)


def asks(memory: TcpMemory, now: float, policy: Policy) -> bool:
    """Whether a question may be due: what is left of it, or how its migration's Job is."""
    migration = memory.operation("migrate")
    stuck = (
        migration is not None
        and not migration.stalled
        and now >= migration.opened + limit_of(memory, "migrate", policy)
    )
    return stuck or memory.farewell is not None
