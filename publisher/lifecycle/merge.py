"""Facts out of a snapshot and what was known before it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeVar
from zlib import crc32

from msgspec import structs

from kamaji_events.duration import seconds
from publisher.lifecycle.facts import AccessPoint, Facts, Trouble
from publisher.snapshot.meta import Meta
from publisher.snapshot.spec import read_spec
from publisher.snapshot.tcp import Deployment, TcpSnapshot, TcpSpec, TcpStatus

__all__ = ["first_seen", "merged", "seconds_of"]

V = TypeVar("V")

PAUSED = "kamaji.clastix.io/paused"
SOOT = "kamaji.clastix.io/soot"
MIGRATION_TIMEOUT = "kamaji.clastix.io/migration-timeout"

_DEFAULT_REPLICAS = 2
_HEALTHY = {"Available": "True", "Progressing": "True", "ReplicaFailure": "False"}
_CERTIFICATES = ("ca", "frontProxyCA", "sa", "apiServer", "apiServerKubeletClient", "frontProxyClient")
_ADDONS = ("coreDNS", "kubeProxy", "konnectivity")
_VERBS = (("blockCreation", "create"), ("blockUpdate", "update"), ("blockDeletion", "delete"))
_MESSAGE = 300
_NOTHING = Facts()


def seconds_of(text: str | None) -> float:
    """A timestamp of the API in seconds since 1970; 0 for one that is absent or malformed."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return 0.0
    return max(found.timestamp(), 0.0) if found is not None and found.tzinfo is not None else 0.0


def _length(text: str | None) -> float:
    """A Go duration in seconds; 0 for one that is absent or that Kamaji could not read either."""
    try:
        return float(str(seconds(text))) if text else 0.0
    except ValueError:
        return 0.0


def merged(known: Facts, snapshot: TcpSnapshot, carried: tuple[str, ...]) -> Facts:
    """What is known after a snapshot.

    Args:
        known: what was known.
        snapshot: the object as it is seen now.
        carried: annotations that events carry.
    """
    return _replaced(known, _values(known, snapshot, carried))


def first_seen(snapshot: TcpSnapshot, carried: tuple[str, ...]) -> Facts:
    """What is known after the first snapshot of an object: ``merged`` with nothing, without comparing with it."""
    return Facts(**_values(_NOTHING, snapshot, carried))


def _values(known: Facts, snapshot: TcpSnapshot, carried: tuple[str, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    meta = snapshot.metadata
    if meta is not None:
        _metadata(values, known, meta, carried)
    status = snapshot.status
    if status is not None:
        _status(values, known, status)
    _spec(values, known, snapshot)
    return values


def _replaced(known: Facts, values: dict[str, Any]) -> Facts:
    """The known facts themselves when nothing moved, so that the caller can compare by identity."""
    moved = {name: value for name, value in values.items() if getattr(known, name) != value}
    return structs.replace(known, **moved) if moved else known


def _metadata(values: dict[str, Any], known: Facts, meta: Meta, carried: tuple[str, ...]) -> None:
    annotations = meta.annotations or {}
    values["generation"] = meta.generation or known.generation
    values["labels"] = meta.labels or {}
    values["finalizers"] = tuple(meta.finalizers or ())
    values["paused"] = PAUSED in annotations
    values["soot_failed"] = annotations.get(SOOT) == "failed"
    values["migration_timeout"] = _length(annotations.get(MIGRATION_TIMEOUT))
    if carried:
        values["annotations"] = {name: annotations[name] for name in carried if name in annotations}
    if meta.deletionTimestamp:
        values["deleting"] = known.deleting or seconds_of(meta.deletionTimestamp) or 1.0


def _status(values: dict[str, Any], known: Facts, status: TcpStatus) -> None:
    values["observed"] = status.observedGeneration or 0
    if status.controlPlaneEndpoint:
        values["endpoint"] = status.controlPlaneEndpoint
    _resources(values, status)
    _storage(values, status)
    kubeconfig = status.kubeconfig.admin if status.kubeconfig else None
    if kubeconfig is not None:
        values["kubeconfig_secret"] = kubeconfig.secretName or known.kubeconfig_secret
        values["kubeconfig"] = kubeconfig.checksum or known.kubeconfig
    token = status.kubeadmPhase.bootstrapToken if status.kubeadmPhase else None
    if token is not None and token.checksum:
        values["bootstrap"] = token.checksum
    certificates = _certificates(status)
    if certificates:
        values["certificates"] = _over(known.certificates, certificates)
    addons = _addons(status)
    if addons:
        values["addons"] = _over(known.addons, addons)
    if not (values.get("version") or known.version):
        values["missing"] = _missing(status)
    elif known.missing:
        values["missing"] = ""


def _over(known: dict[str, V], seen: dict[str, V]) -> dict[str, V]:
    """What is seen over what was known; the known itself where they say the same, so that it can be shared."""
    if seen == known:
        return known
    return {**known, **seen} if known else seen


def _resources(values: dict[str, Any], status: TcpStatus) -> None:
    found = status.kubernetesResources
    if found is None:
        return
    if found.version is not None:
        if found.version.status:
            values["word"] = found.version.status
        if found.version.version:
            values["version"] = found.version.version
    if found.deployment is not None:
        _deployment(values, found.deployment)
    points = found.gateway.accessPoints if found.gateway else None
    if points:
        read = (AccessPoint(point.value or "", point.port or 0, tuple(point.urls or ())) for point in points)
        values["access_points"] = tuple(sorted(read))


def _deployment(values: dict[str, Any], found: Deployment) -> None:
    values["replicas"] = found.replicas or 0
    values["ready"] = found.readyReplicas or 0
    values["updated"] = found.updatedReplicas or 0
    if found.observedGeneration:
        values["rollout"] = found.observedGeneration
    troubles = []
    for condition in found.conditions or ():
        if condition.type == "Available":
            values["available"] = condition.status or ""
            values["available_since"] = seconds_of(condition.lastTransitionTime)
        if condition.type and _HEALTHY.get(condition.type, condition.status) != condition.status:
            message = (condition.message or "")[:_MESSAGE]
            troubles.append(Trouble(condition.type, condition.status or "", condition.reason or "", message))
    values["troubles"] = tuple(troubles)


def _storage(values: dict[str, Any], status: TcpStatus) -> None:
    storage = status.storage
    if storage is None:
        return
    if storage.dataStoreName:
        values["store"] = storage.dataStoreName
    if storage.config is not None and storage.config.checksum:
        values["credentials"] = storage.config.checksum


def _certificates(status: TcpStatus) -> dict[str, str]:
    """Checksums by name, without those that are empty."""
    checksums: dict[str, str] = {}
    found = status.certificates
    if found is not None:
        blocks = (found.ca, found.frontProxyCA, found.sa, found.apiServer, found.apiServerKubeletClient)
        for name, block in zip(_CERTIFICATES, (*blocks, found.frontProxyClient), strict=True):
            if block is not None and block.checksum:
                checksums[name] = block.checksum
        for name, block in (found.etcd or {}).items():
            if block is not None and block.checksum:
                checksums[f"etcd.{name}"] = block.checksum
    storage = status.storage.certificate if status.storage else None
    if storage is not None and storage.checksum:
        checksums["datastore"] = storage.checksum
    konnectivity = status.addons.konnectivity if status.addons else None
    if konnectivity is not None and konnectivity.certificate is not None and konnectivity.certificate.checksum:
        checksums["konnectivity"] = konnectivity.certificate.checksum
    return checksums


def _addons(status: TcpStatus) -> dict[str, bool]:
    addons = status.addons
    if addons is None:
        return {}
    blocks = (addons.coreDNS, addons.kubeProxy, addons.konnectivity)
    named = zip(_ADDONS, blocks, strict=True)
    return {name: block.enabled for name, block in named if block is not None and block.enabled is not None}


def _spec(values: dict[str, Any], known: Facts, snapshot: TcpSnapshot) -> None:
    raw = snapshot.spec
    mark = crc32(raw)
    if mark == known.spec_seen:
        return
    spec = read_spec(raw)
    if spec is None:
        return
    values["spec_seen"] = mark
    values["wanted"] = _wanted(spec)
    if spec.kubernetes is not None and spec.kubernetes.version:
        values["wanted_version"] = spec.kubernetes.version
    if spec.dataStore:
        values["wanted_store"] = spec.dataStore
    limits = spec.writePermissions
    values["verbs"] = tuple(verb for name, verb in _VERBS if limits is not None and getattr(limits, name))


def _wanted(spec: TcpSpec) -> int:
    deployment = spec.controlPlane.deployment if spec.controlPlane else None
    if deployment is None or deployment.replicas is None:
        return _DEFAULT_REPLICAS
    return deployment.replicas


def _missing(status: TcpStatus) -> str:
    """The first empty block in the order in which Kamaji fills them."""
    for name, filled in _steps(status):
        if not filled:
            return name
    return "deployment"


def _steps(status: TcpStatus) -> Iterator[tuple[str, bool]]:
    yield "controlPlaneEndpoint", bool(status.controlPlaneEndpoint)
    yield "kubeadmconfig", bool(status.kubeadmconfig and status.kubeadmconfig.checksum)
    for name in ("ca", "frontProxyCA", "sa", "apiServer", "apiServerKubeletClient", "frontProxyClient"):
        block = getattr(status.certificates, name, None)
        yield f"certificates.{name}", bool(block and block.checksum)
    for name in ("admin", "controllerManager", "scheduler"):
        block = getattr(status.kubeconfig, name, None)
        yield f"kubeconfig.{name}", bool(block and block.checksum)
    for name in ("config", "setup", "certificate"):
        block = getattr(status.storage, name, None)
        yield f"storage.{name}", bool(block and block.checksum)
