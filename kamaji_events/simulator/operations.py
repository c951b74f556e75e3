"""What the owners of invented control planes want, drawn from a seed."""

import random
from collections.abc import Callable, Sequence

from kamaji_events.simulator.hands import Steps
from kamaji_events.simulator.operator import PAUSED
from kamaji_events.simulator.tenant import Tenant
from kamaji_events.simulator.version import Object

__all__ = ["VERSIONS", "draw"]

VERSIONS = ("v1.33.5", "v1.34.1", "v1.34.4", "v1.35.0", "v1.35.2", "v1.36.1")
"""Versions that control planes are created with and upgraded to."""
_TIERS = ("bronze", "silver", "gold")


def draw(tenant: Tenant, rng: random.Random, stores: Sequence[str]) -> Steps:
    """One thing that happens to a control plane that is there, all of it.

    Args:
        tenant: the control plane.
        rng: decides.
        stores: DataStores to migrate between.
    """
    spec = tenant.content["spec"]
    if spec["controlPlane"]["deployment"]["replicas"] == 0:
        return tenant.edit(_replicas(rng.choice((1, 2, 3))))
    chosen: Callable[[Tenant, random.Random, Sequence[str]], Steps] = rng.choices(_ALL, _WEIGHTS)[0]
    return chosen(tenant, rng, stores)


def _replicas(number: int) -> Callable[[Object], None]:
    return lambda content: content["spec"]["controlPlane"]["deployment"].update(replicas=number)


def _upgrade(tenant: Tenant, rng: random.Random, _: Sequence[str]) -> Steps:
    now = tenant.content["spec"]["kubernetes"]["version"]
    newer = [version for version in VERSIONS if version > now] or [VERSIONS[0]]
    target = rng.choice(newer[:2])
    return tenant.edit(lambda content: content["spec"]["kubernetes"].update(version=target))


def _scale(tenant: Tenant, rng: random.Random, _: Sequence[str]) -> Steps:
    now = tenant.content["spec"]["controlPlane"]["deployment"]["replicas"]
    return tenant.edit(_replicas(rng.choice([number for number in (1, 2, 3, 4) if number != now])))


def _sleep(tenant: Tenant, _: random.Random, __: Sequence[str]) -> Steps:
    return tenant.edit(_replicas(0))


def _migrate(tenant: Tenant, rng: random.Random, stores: Sequence[str]) -> Steps:
    now = tenant.content["spec"]["dataStore"]
    others = [name for name in stores if name != now] or [now]
    target = rng.choice(others)
    return tenant.edit(lambda content: content["spec"].update(dataStore=target))


def _label(tenant: Tenant, rng: random.Random, _: Sequence[str]) -> Steps:
    tier = rng.choice(_TIERS)
    return tenant.edit(lambda content: content["metadata"].setdefault("labels", {}).update(tier=tier))


def _limit(tenant: Tenant, _: random.Random, __: Sequence[str]) -> Steps:
    def flip(content: Object) -> None:
        if content["spec"].pop("writePermissions", None) is None:
            content["spec"]["writePermissions"] = {"blockCreation": True, "blockUpdate": True}

    return tenant.edit(flip)


def _pause(tenant: Tenant, rng: random.Random, _: Sequence[str]) -> Steps:
    yield from tenant.edit(lambda content: content["metadata"].setdefault("annotations", {}).update({PAUSED: "true"}))
    yield rng.uniform(1.0, 4.0)
    yield from tenant.edit(lambda content: content["metadata"]["annotations"].pop(PAUSED, None))


def _rotate_ca(tenant: Tenant, _: random.Random, __: Sequence[str]) -> Steps:
    return tenant.rotate_ca()


def _rotate_certificate(tenant: Tenant, rng: random.Random, _: Sequence[str]) -> Steps:
    return tenant.rotate_certificate(rng.choice(("apiServer", "apiServerKubeletClient", "frontProxyClient")))


def _rotate_kubeconfig(tenant: Tenant, _: random.Random, __: Sequence[str]) -> Steps:
    return tenant.rotate_kubeconfig()


def _lose_pods(tenant: Tenant, rng: random.Random, _: Sequence[str]) -> Steps:
    return tenant.lose_pods(rng.choice((1, 9)))


_ALL = (
    _upgrade, _scale, _sleep, _migrate, _label, _limit, _pause, _rotate_ca, _rotate_certificate, _rotate_kubeconfig,
    _lose_pods,
)  # fmt: skip
_WEIGHTS = (6, 4, 3, 2, 2, 1, 1, 1, 1, 1, 3)
