"""Events of a publisher or a consumer about itself, numbered within its term.

Used by both services: the id is ``<instance>.<term>.<n>`` and the subject is the instance's name. Each term is an
object of its own for ordering: the partition key is ``<instance>.<term>`` and the sequence counts from 1 within it.
"""

from typing import Any

from kamaji_events import identity
from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import SCHEMA_BASE, Message, encode

__all__ = ["InstanceEvents"]


class InstanceEvents:
    """Makes the events of one instance in one term.

    Args:
        kind: ``Kind.PUBLISHER`` or ``Kind.SUBSCRIPTION``.
        cluster: the management cluster, ``_`` for a consumer that serves several.
        instance: the instance's name.
        term: a publisher's leadership; a consumer's start in ms since 1970.
        carry_term: put the term into ``kamajiterm``: a publisher's events do.
        schema_base: where schemas are kept.
    """

    def __init__(
        self,
        kind: Kind,
        *,
        cluster: str,
        instance: str,
        term: int,
        carry_term: bool,
        schema_base: str = SCHEMA_BASE,
    ) -> None:
        self._kind = kind
        self._cluster = cluster
        self._instance = instance
        self._term = term
        self._carry_term = carry_term
        self._schema_base = schema_base
        self._n = 0

    def message(
        self,
        name: str,
        seconds: float,
        *,
        reason: tuple[str, str] | None = None,
        cluster: str | None = None,
        **details: Any,
    ) -> Message:
        """One event.

        Args:
            name: two words of the catalogue, such as ``state.alive``.
            seconds: when it happened, since 1970.
            reason: a CamelCase word and a sentence.
            cluster: another than the instance's own, when the event is about that one.
            details: members of ``data`` that this event has, as the catalogue lists them.

        Raises:
            KeyError: the catalogue has no such event of this kind.
        """
        event = lookup(self._kind, name)
        self._n += 1
        data: dict[str, Any] = {"severity": event.severity, **details}
        if reason is not None:
            data["reason"] = {"word": reason[0], "message": reason[1]}
        return encode(
            event,
            cluster=cluster or self._cluster,
            namespace=None,
            name=self._instance,
            uid=f"{self._instance}.{self._term}",
            id=identity.instance_id(self._instance, self._term, self._n),
            seconds=seconds,
            sequence=identity.sequence(1, self._n),
            term=self._term if self._carry_term else None,
            data=data,
            schema_base=self._schema_base,
        )
