"""The metadata that both kinds share."""

from msgspec import Raw, Struct

__all__ = ["Condition", "Meta"]


class Meta(Struct, frozen=True, gc=False):
    """``metadata``, as far as anything is concluded from it."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 - the API's spelling
    generation: int | None = None
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    managedFields: Raw = Raw(b"null")  # noqa: N815 - half of a line, read only for the actor of a change


class Condition(Struct, frozen=True, gc=False):
    """A condition of an object, or of a Deployment inside a status."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None  # noqa: N815
