"""Routing keys: six words, made here for publishers and bindings alike.

``<kind>.<event, two words>.<cluster>.<namespace>.<name>``, e.g.
``tenantcontrolplane.upgrade.completed.eu-1.tenants.acme``.
"""

from hashlib import sha256

from kamaji_events.catalogue import EventType

__all__ = ["KEY_BYTES", "name_words", "routing_key", "word"]

KEY_BYTES = 255
"""AMQP 0-9-1 carries a routing key as a short string."""

_KEPT = 80
_LEAST_HEAD = len("*.*.*.*.*.")


def word(text: str | None) -> str:
    """A namespace or name as one word of a key: dots become ``_``, nothing becomes ``_``."""
    return text.replace(".", "_") if text else "_"


def _shortened(name: str) -> str:
    """The word of a name that does not fit: its start and a hash, a function of the name alone.

    The start is of a fixed length, so that a binding can be written without knowing the rest of the key.
    """
    return f"{word(name)[:_KEPT]}~{sha256(name.encode()).hexdigest()[:16]}"


def routing_key(event: EventType, cluster: str, namespace: str | None, name: str) -> str:
    """The key under which an event is published.

    Args:
        event: its row of the catalogue.
        cluster: the management cluster, ``_`` for an event of none.
        namespace: None for what has none.
        name: the object's name; shortened to its start, ``~`` and a hash when the key would pass 255 bytes.
    """
    head = f"{event.kind}.{event.name}.{cluster}.{word(namespace)}."
    key = head + word(name)
    if len(key.encode()) <= KEY_BYTES:
        return key
    return head + _shortened(name)


def name_words(name: str) -> tuple[str, ...]:
    """Every word under which a name can stand in a key: a binding on a name needs one for each.

    A name of ordinary length has one. A long one has two, since whether a key passes 255 bytes also depends on
    the other words, which a binding may leave open.
    """
    plain = word(name)
    if len(plain) <= _KEPT:
        return (plain,)
    if len(plain) > KEY_BYTES - _LEAST_HEAD:  # no key holds it whole, and no binding could
        return (_shortened(name),)
    return (plain, _shortened(name))
