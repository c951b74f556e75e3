"""Questions that only the API server can answer, and their answers."""

from enum import StrEnum

from msgspec import Struct

__all__ = ["Found", "Look", "LookAnswer", "LookKind"]


class LookKind(StrEnum):
    """What is asked."""

    CLEANUP = "cleanup"
    """What is left of a TenantControlPlane that is gone: objects of its namespace with the label
    ``kamaji.clastix.io/name`` = its name."""
    MIGRATE_JOB = "migrate-job"
    """The Job of a migration that takes too long: in Kamaji's own namespace, with the labels
    ``tcp.kamaji.clastix.io/name`` and ``tcp.kamaji.clastix.io/namespace``."""


class Look(Struct, frozen=True):
    """One question."""

    kind: LookKind
    namespace: str
    """The TenantControlPlane's."""
    name: str
    """The TenantControlPlane's."""
    uid: str
    """The TenantControlPlane's."""


class Found(Struct, frozen=True):
    """One object that was found."""

    kind: str
    """Such as ``Secret``."""
    name: str
    owners: tuple[str, ...] = ()
    """The uids of its owner references."""
    deleting: bool = False
    """It has a deletionTimestamp."""
    finalizers: tuple[str, ...] = ()
    state: str = ""
    """A Job's: ``Running``, ``Complete``, ``Failed`` or ``Suspended``, empty where it is not known."""
    message: str = ""
    """What the Job's condition says."""


class LookAnswer(Struct, frozen=True):
    """What was found."""

    look: Look
    found: tuple[Found, ...] = ()
    """Whatever has the labels; whose it is, is judged by ``Fleet.looked``."""
    verified: tuple[str, ...] = ()
    """Kinds that were listed completely, such as ``Deployment``."""
    unverified: tuple[str, ...] = ()
    """Kinds that could not be listed: no right to, not asked for, or an error."""
