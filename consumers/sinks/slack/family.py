"""What belongs together in a channel: events of one operation in a thread, the same news of many objects in one."""

from dataclasses import dataclass

from kamaji_events.catalogue import by_type
from kamaji_events.event import Event

__all__ = ["Family"]

_OUTAGE = "outage"
_ENDS = frozenset(("completed", "cancelled", "superseded", "ended"))
_FAILED = frozenset(("stalled", "cancelled", "failed"))


@dataclass(frozen=True, slots=True)
class Family:
    """Where an event belongs."""

    flood: str
    """The same for the same news of other objects: ``eu-1 upgrade v1.32.0``."""
    title: str
    """The news in words: ``Upgrade to v1.32.0 on eu-1``."""
    member: str
    """The same for all events of one operation, or of one object's state."""
    name: str
    """The object's."""
    order: str
    """Later events of a member have a greater one."""
    word: str
    """What is so now: ``started``, ``completed``; of a state its name."""
    threaded: bool
    """Whether others follow that belong to this one."""
    running: bool
    """Whether the end is still to come."""
    failed: bool
    """Whether something went wrong."""

    @classmethod
    def of(cls, event: Event) -> "Family":
        """Where this event belongs."""
        first, _, second = event.name.partition(".")
        row = by_type(event.type)
        operation = event.operationid is not None
        threaded = operation or first == _OUTAGE
        target = _target(event) if operation else ""
        what = first if threaded else event.name
        cluster = event.cluster or "_"
        subject = first if threaded else event.name.replace(".", " ")
        return cls(
            flood=f"{cluster} {event.kind} {what} {target}".rstrip(),
            title=_title(subject, target, cluster),
            member=event.operationid or f"{event.partitionkey or event.source}.{what}",
            name=event.subject or event.id,
            order=event.sequence or event.attributes.get("time") or event.id,
            word=second if threaded else event.name,
            threaded=threaded,
            running=threaded and second not in _ENDS,
            failed=second in _FAILED or (not threaded and row is not None and row.severity in ("warning", "critical")),
        )


def _target(event: Event) -> str:
    operation = event.data.get("operation")
    target = operation.get("to") if isinstance(operation, dict) else None
    return str(target) if isinstance(target, (str, int)) else ""


def _title(subject: str, target: str, cluster: str) -> str:
    where = f" on {cluster}" if cluster != "_" else ""
    return f"{subject[:1].upper()}{subject[1:]}{f' to {target}' if target else ''}{where}"
