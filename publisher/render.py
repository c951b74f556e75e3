"""From a decision to the bytes that stand for it from then on."""

from typing import Any

from kamaji_events.envelope import SCHEMA_BASE, Message, encode, timestamp
from publisher.lifecycle.decision import Decision, OperationFacts

__all__ = ["render"]


def render(decision: Decision, *, cluster: str, term: int | None, schema_base: str = SCHEMA_BASE) -> Message:
    """Make a decision's message.

    Args:
        decision: what was concluded.
        cluster: the management cluster.
        term: the publisher's leadership; None offline.
        schema_base: where schemas are kept.
    """
    return encode(
        decision.event,
        cluster=cluster,
        namespace=decision.namespace,
        name=decision.object_name,
        uid=decision.uid,
        id=decision.id,
        seconds=decision.seconds,
        sequence=decision.sequence,
        term=term,
        data=_data(decision),
        operationid=decision.operation.id if decision.operation else None,
        schema_base=schema_base,
    )


def _data(decision: Decision) -> dict[str, Any]:
    data: dict[str, Any] = {
        "object": decision.object,
        "state": decision.state,
        "severity": decision.event.severity,
        "reconstructed": decision.reconstructed,
    }
    if decision.change is not None:
        field, before, after = decision.change
        data["change"] = {"field": field, "from": before, "to": after}
    if decision.operation is not None:
        data["operation"] = _operation(decision.operation)
    if decision.actor is not None:
        data["actor"] = {"manager": decision.actor.manager, "time": decision.actor.time or None}
    if decision.reason is not None:
        word, sentence = decision.reason
        data["reason"] = {"word": word, "message": sentence}
    return data | decision.details


def _operation(facts: OperationFacts) -> dict[str, Any]:
    begun = facts.requested_at if facts.requested_at is not None else facts.started_at
    lasted = None if facts.ended_at is None or begun is None else max(0.0, round(facts.ended_at - begun, 3))
    return {
        "id": facts.id,
        "kind": facts.kind,
        "requestedAt": _time(facts.requested_at),
        "startedAt": _time(facts.started_at),
        "endedAt": _time(facts.ended_at),
        "durationSeconds": lasted,
        "from": facts.source,
        "to": facts.target,
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else timestamp(seconds)
