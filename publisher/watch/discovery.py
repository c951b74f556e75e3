"""Which versions of Kamaji's group the server has, and which cluster it is."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from kamaji_events.errors import ClusterRefused, ClusterUnavailable, KindMissing
from publisher.watch.ask import KAMAJI_GROUP, Ask, Target
from publisher.watch.source import Source
from publisher.watch.status import CredentialsRefusedError

__all__ = ["cluster_uid", "find_target", "find_targets", "served_resources", "server_version"]

T = TypeVar("T")

_USUAL = "v1alpha1"
"""Asked for when discovery is forbidden; every release so far serves it."""


class _Served(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct, rename="camel"):
    versions: list[_Served] | None = None
    preferred_version: _Served | None = None


class _Kind(msgspec.Struct):
    name: str = ""


class _Kinds(msgspec.Struct):
    resources: list[_Kind] | None = None


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = "unknown"


class _Namespace(msgspec.Struct):
    metadata: Mapping[str, object] = msgspec.field(default_factory=dict)


async def find_target(source: Source, resource: str) -> Target:
    """A kind of Kamaji's group in the version that the server prefers, or else any that it serves.

    Args:
        source: the API server.
        resource: plural.

    Raises:
        KindMissing: the group or the kind is not installed (yet).
        ClusterError: discovery failed otherwise; being forbidden is no failure.
    """
    try:
        found = await find_targets(source, KAMAJI_GROUP, [resource])
    except CredentialsRefusedError:
        raise
    except ClusterRefused:
        return Target(KAMAJI_GROUP, _USUAL, resource)
    if not found:
        raise KindMissing(f"{resource}.{KAMAJI_GROUP} is not served by {source.server}: is the CRD installed?")
    return found[0]


async def find_targets(source: Source, group: str, resources: Sequence[str]) -> list[Target]:
    """Those of some kinds that a group has, each in the version that the server prefers, or else any that it serves.

    Raises:
        ClusterError: discovery failed; a group that is not there has no kinds.
    """
    found: dict[str, Target] = {}
    for version in await _versions(source, group):
        served = await served_resources(source, group, version)
        found |= {name: Target(group, version, name) for name in resources if name in served and name not in found}
        if len(found) == len(resources):
            break
    return list(found.values())


async def served_resources(source: Source, group: str, version: str) -> frozenset[str]:
    """Names of the kinds of a group's version; empty when it is not served.

    Raises:
        ClusterError: discovery failed.
    """
    try:
        body = await source.get(Ask("get", f"/apis/{group}/{version}"))
    except KindMissing:
        return frozenset()
    return frozenset(kind.name for kind in _read(source, body, _Kinds).resources or ())


async def _versions(source: Source, group: str) -> list[str]:
    """Served versions, the preferred one first."""
    try:
        read = _read(source, await source.get(Ask("get", f"/apis/{group}")), _Group)
    except KindMissing:
        return []
    named = [read.preferred_version, *(read.versions or ())]
    return list(dict.fromkeys(item.version for item in named if item is not None and item.version))


async def server_version(source: Source) -> str:
    """The API server's release, such as ``v1.36.3``: the cheapest way to find out that it cannot be asked.

    Raises:
        ClusterError: it does not answer, or not to these credentials.
    """
    return _read(source, await source.get(Ask("get", "/version")), _Version).git_version


async def cluster_uid(source: Source) -> str | None:
    """What tells a cluster from any other: the uid of its kube-system namespace; None when we may not ask.

    Raises:
        ClusterError: the server does not answer, or not to these credentials.
    """
    try:
        body = await source.get(Ask("get", "/api/v1/namespaces/kube-system", Target("", "v1", "namespaces")))
    except CredentialsRefusedError:
        raise
    except (ClusterRefused, KindMissing):
        return None
    uid = _read(source, body, _Namespace).metadata.get("uid")
    return uid if isinstance(uid, str) else None


def _read(source: Source, body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ClusterUnavailable(
            f"{source.server} answers discovery with something else: is it an API server?"
        ) from error
