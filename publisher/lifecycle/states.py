"""The states of a TenantControlPlane, in the order of the contract's table."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from publisher.lifecycle import looping
from publisher.lifecycle.bootstrap import judge_bootstrap
from publisher.lifecycle.memory import TcpMemory
from publisher.lifecycle.moment import Moment
from publisher.lifecycle.readiness import judge_readiness

__all__ = ["begin_silently", "judge_pause", "judge_states"]

PAUSED = "kamaji.clastix.io/paused"

_TOLD_BY_OTHERS = ("kubernetes.version", "dataStore", "controlPlane.deployment.replicas")
_LIMITS = "writePermissions"


def judge_states(moment: Moment) -> None:
    """Say which states are others now."""
    for judge in _JUDGES:
        judge(moment)


def _writes(moment: Moment) -> None:
    memory, new = moment.memory, moment.new
    limited = new.word == "WriteLimited"
    if not memory.limited and new.verbs and limited:
        memory.limited = True
        reason = ("WritesLimited", f"Blocked in the tenant: {', '.join(new.verbs)}.")
        moment.teller.tell("writes.limited", reason=reason, asked=["spec.writePermissions"], verbs=list(new.verbs))
    elif memory.limited and not new.verbs and not limited:
        memory.limited = False
        reason = ("WritesRestored", "Nothing limits writes to the tenant any more.")
        moment.teller.tell("writes.restored", reason=reason, asked=["spec.writePermissions"])


def judge_pause(moment: Moment) -> None:
    """Paused or resumed: the one state that is also told of an object that is being deleted."""
    if moment.new.paused == moment.old.paused:
        return
    asked = [f"metadata.annotations.{PAUSED}"]
    if moment.new.paused:
        reason = ("Paused", "Kamaji does not reconcile it: from here on its status is frozen.")
        moment.teller.tell("state.paused", reason=reason, asked=asked)
    else:
        moment.teller.tell("state.resumed", reason=("Resumed", "Kamaji reconciles it again."), asked=asked)


def _endpoint(moment: Moment) -> None:
    memory, old, new = moment.memory, moment.old, moment.new
    if (new.endpoint, new.access_points) == (old.endpoint, old.access_points):
        return
    before, after = old.endpoint or None, new.endpoint or None
    points = [{"value": point.value, "port": point.port, "urls": list(point.urls)} for point in new.access_points]
    name = "endpoint.changed" if memory.endpoint_told else "endpoint.assigned"
    word = "EndpointChanged" if memory.endpoint_told else "EndpointAssigned"
    change = ("status.controlPlaneEndpoint", before, after) if before != after else None
    reason = (word, f"The endpoint is {after or points[0]['value']}.")
    memory.endpoint_told = True
    moment.teller.tell(name, reason=reason, change=change, accessPoints=points)


def _kubeconfig(moment: Moment) -> None:
    old, new = moment.old, moment.new
    if new.kubeconfig_secret and not old.kubeconfig_secret:
        reason = ("SecretWritten", f"Secret {new.kubeconfig_secret} holds it; the API may answer 403 for some seconds.")
        change = ("status.kubeconfig.admin.secretName", None, new.kubeconfig_secret)
        moment.teller.tell("kubeconfig.available", reason=reason, change=change)
    elif moment.was_created and old.kubeconfig and new.kubeconfig != old.kubeconfig:
        if looping.counted(moment, "kubeconfig"):
            return
        reason = ("ChecksumMoved", f"Secret {new.kubeconfig_secret} has other content: fetch it again.")
        moment.teller.tell("kubeconfig.rotated", reason=reason)


def _certificates(moment: Moment) -> None:
    if moment.rotating or not moment.was_created:
        return
    names = sorted(name for name in moment.moved_certificates if not looping.counted(moment, f"certificate:{name}"))
    if not names:
        return
    reason = ("ChecksumMoved", f"Renewed: {', '.join(names)}.")
    moment.teller.tell("certificates.rotated", reason=reason, certificates=names)


def _credentials(moment: Moment) -> None:
    old, new = moment.old, moment.new
    if moment.migrating or not moment.was_created or not old.credentials or old.credentials == new.credentials:
        return
    if not looping.counted(moment, "credentials"):
        reason = ("ChecksumMoved", f"The password at DataStore {new.store or new.wanted_store} is another one.")
        moment.teller.tell("credentials.rotated", reason=reason)


def _labels(moment: Moment) -> None:
    old, new = moment.old.labels, moment.new.labels
    if moment.first or old == new:
        return
    moved = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    reason = ("LabelsChanged", f"Moved: {', '.join(moved)}.")
    asked = [f"metadata.labels.{name}" for name in moved]
    moment.teller.tell("labels.changed", reason=reason, change=("metadata.labels", old, new), asked=asked)


def _spec(moment: Moment) -> None:
    if moment.first:
        return
    paths = [path for path in moment.paths if not _told_elsewhere(moment, path)]
    if not paths:
        return
    verbs: dict[str, Any] = {"verbs": list(moment.new.verbs)} if any(path.startswith(_LIMITS) for path in paths) else {}
    reason = ("SpecEdited", f"Moved: {', '.join(paths)}.")
    moment.teller.tell("spec.changed", reason=reason, asked=[f"spec.{path}" for path in paths], paths=paths, **verbs)


def _told_elsewhere(moment: Moment, path: str) -> bool:
    """Whether another event tells of an edit; during a creation none does, since no other operation opens."""
    old, new = moment.old, moment.new
    if path == "kubernetes.version" and old.wanted_version in ("", new.wanted_version):
        return True
    if path == "dataStore" and old.wanted_store in ("", new.wanted_store):
        return True
    if path == "controlPlane.deployment.replicas" and old.wanted == new.wanted:
        return True
    if not moment.was_created:
        return False
    if path.startswith(_LIMITS):
        return not (moment.was_limited and new.verbs and old.verbs and old.verbs != new.verbs)
    return path in _TOLD_BY_OTHERS


def _addons(moment: Moment) -> None:
    old, new = moment.old.addons, moment.new.addons
    moved = sorted(name for name, enabled in new.items() if old.get(name, enabled) != enabled)
    if moment.first or not moved:
        return
    addons = [{"name": name, "enabled": new[name]} for name in moved]
    told = ", ".join(f"{name} {'enabled' if new[name] else 'disabled'}" for name in moved)
    moment.teller.tell("addons.changed", reason=("AddonsChanged", f"Now {told}."), addons=addons)


_JUDGES: Final[Sequence[Callable[[Moment], None]]] = (
    judge_readiness,
    looping.judge_looping,
    judge_bootstrap,
    _writes,
    judge_pause,
    _endpoint,
    _kubeconfig,
    _certificates,
    _credentials,
    _labels,
    _spec,
    _addons,
)


def begin_silently(memory: TcpMemory, now: float) -> None:
    """Start every state of a baseline's object from what is seen."""
    facts = memory.facts
    memory.created = bool(facts.version)
    if memory.created:
        memory.ready = True if facts.serves else False if facts.fallen else None
        memory.unclear = memory.ready is None
        if memory.ready is False and facts.wanted != 0:
            memory.down_since = now
    memory.degraded = bool(memory.ready) and facts.ready < facts.wanted
    memory.limited = bool(facts.verbs) and facts.word == "WriteLimited"
    memory.endpoint_told = bool(facts.endpoint or facts.access_points)
