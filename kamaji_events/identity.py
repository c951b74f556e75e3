"""Names that never change: ids, operation ids and sequences, exactly as the contract defines them.

An event is decided once. Whoever republishes, redrives or replays it must arrive at the same id, so ids are made
of facts of the object alone: its uid, the generation that asked, the resourceVersion that was seen.
"""

import re

from kamaji_events.errors import SettingsError

__all__ = ["check_cluster", "instance_id", "operation_id", "sequence", "state_id", "subject"]

_CLUSTER = re.compile(r"[a-z0-9-]{1,40}\Z")


def check_cluster(name: str) -> str:
    """Give back a management cluster's name, or refuse it.

    The name is a word of every routing key and a part of every source, so it may hold neither a dot nor a wildcard.

    Raises:
        SettingsError: it is not 1 to 40 of lower-case letters, digits and ``-``.
    """
    if _CLUSTER.match(name):
        return name
    if not name:
        raise SettingsError(
            "the cluster's name is missing: give 1 to 40 lower-case letters, digits or '-', e.g. 'eu-1'"
        )
    raise SettingsError(f"cluster {name!r} cannot be used: give 1 to 40 lower-case letters, digits or '-', e.g. 'eu-1'")


def _owner(uid: str, epoch: int) -> str:
    return uid if epoch <= 1 else f"{uid}~{epoch}"


def operation_id(uid: str, operation: str, asked_by: int | str | None = None, *, epoch: int = 1) -> str:
    """The id that all events of one operation share.

    Args:
        uid: the object's uid.
        operation: ``create``, ``upgrade`` and so on.
        asked_by: the metadata.generation that asked for it; the new CA's checksum for a rotation; None for
            create and delete, of which an object has one.
        epoch: the publisher's epoch; from the second on it marks the uid.
    """
    words = [_owner(uid, epoch), operation]
    if asked_by is not None:
        words.append(str(asked_by))
    return ".".join(words)


def state_id(uid: str, resource_version: str, event: str, *, epoch: int = 1) -> str:
    """The id of a state's event: one object and resourceVersion never give two states of one name."""
    return f"{_owner(uid, epoch)}.{resource_version}.{event}"


def instance_id(instance: str, term: int, n: int) -> str:
    """The id of an event of a publisher or consumer about itself; a consumer's term is its start in ms."""
    return f"{instance}.{term}.{n}"


def sequence(epoch: int, counter: int) -> str:
    """Per object, ordered as strings, gapless within an epoch."""
    return f"{epoch:06d}-{counter:014d}"


def subject(namespace: str | None, name: str) -> str:
    """``namespace/name``, or the name of what has no namespace."""
    return f"{namespace}/{name}" if namespace else name
