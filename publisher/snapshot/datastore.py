"""A DataStore as the API gives it."""

from msgspec import Struct

from publisher.snapshot.meta import Condition, Meta

__all__ = ["DataStoreSnapshot", "DataStoreStatus"]


class DataStoreStatus(Struct, frozen=True, gc=False):
    """``status``."""

    ready: bool | None = None
    usedBy: list[str] | None = None  # noqa: N815 - the API's spelling
    conditions: list[Condition] | None = None


class DataStoreSpec(Struct, frozen=True, gc=False):
    """``spec``."""

    driver: str | None = None


class DataStoreSnapshot(Struct, frozen=True, gc=False):
    """One DataStore at one resourceVersion; its metadata has a uid and a name."""

    apiVersion: str | None = None  # noqa: N815 - the API's spelling
    kind: str | None = None
    metadata: Meta | None = None
    spec: DataStoreSpec | None = None
    status: DataStoreStatus | None = None
