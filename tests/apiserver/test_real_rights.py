"""Who may read what: refusals name the missing rule, tokens expire and are rotated, certificates do as well."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from publisher.observation import Resource
from publisher.watch.policy import WatchPolicy
from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import KAMAJI, Kube, Object
from tests.apiserver.watching import eventually, watching
from tests.support.rabbit import fresh

_POLICY = WatchPolicy(backoff_base=0.2, backoff_most=0.5, missing_most=0.2)
_EVERYTHING = ("get", "list", "watch")


def _rule(resource: str, *verbs: str) -> Object:
    return {"apiGroups": [KAMAJI], "resources": [resource], "verbs": list(verbs)}


@dataclass(frozen=True)
class _Account:
    """A service account, known by the token in a file."""

    name: str
    uid: str
    token: Path

    @property
    def subject(self) -> Object:
        return {"kind": "ServiceAccount", "name": self.name, "namespace": "accounts"}

    def renew(self, cluster: Cluster, seconds: float) -> None:
        """Put a new token into the file."""
        self.token.write_text(cluster.credentials.token("accounts", self.name, self.uid, seconds=seconds))


async def _account(cluster: Cluster, kube: Kube, folder: Path, rules: list[Object], *, seconds: float) -> _Account:
    name = fresh("sa")
    account = _Account(name, await kube.account("accounts", name, rules), folder / "token")
    account.renew(cluster, seconds)
    return account


def _other(resource: Resource) -> Resource:
    return next(other for other in Resource if other is not resource)


@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize("resource", list(Resource))
async def test_a_missing_right_is_named_and_the_rest_works(
    cluster: Cluster, kube: Kube, tmp_path: Path, resource: Resource, verb: str
) -> None:
    """Without one verb on one kind the problem names both; the other kind is watched all the same; granting mends."""
    granted = [right for right in _EVERYTHING if right != verb]
    rules = [_rule(resource, *granted), _rule(_other(resource), *_EVERYTHING)]
    account = await _account(cluster, kube, tmp_path, rules, seconds=600)
    kubeconfig = cluster.kubeconfig(account.name, token=account.token)
    async with watching(kubeconfig, resource, policy=replace(_POLICY, streaming=False)) as refused:
        await eventually(lambda: "forbids" in (refused.reflector.problem or ""), "a refusal")
        problem = refused.reflector.problem or ""
        assert f"{verb} {resource}.{KAMAJI}" in problem
        assert f"'{verb}'" in problem
        async with watching(kubeconfig, _other(resource), policy=_POLICY) as allowed:
            await allowed.synced()
            assert allowed.reflector.problem is None
        await kube.allow(fresh("grant"), account.subject, [_rule(resource, verb)])
        await eventually(lambda: refused.reflector.problem is None, "no problem once the right is there")


async def test_a_streaming_list_needs_no_right_to_list(cluster: Cluster, kube: Kube, tmp_path: Path) -> None:
    """It is a watch to the server: with that right alone the first list works, so a missing list shows later."""
    account = await _account(cluster, kube, tmp_path, [_rule("tenantcontrolplanes", "watch")], seconds=600)
    async with watching(cluster.kubeconfig(account.name, token=account.token), policy=_POLICY) as seen:
        await seen.synced()

        assert seen.reflector.stats.streamed == 1


async def test_tokens_expire_and_are_rotated(cluster: Cluster, kube: Kube, tmp_path: Path) -> None:
    """A token replaced in its file in time costs nothing; one replaced too late is told until then; nothing is lost."""
    rules = [_rule("tenantcontrolplanes", *_EVERYTHING)]
    (tmp_path / "late").mkdir()
    in_time = await _account(cluster, kube, tmp_path, rules, seconds=2)
    late = await _account(cluster, kube, tmp_path / "late", rules, seconds=2)
    await kube.namespace("tenants")
    policy = WatchPolicy(backoff_base=0.2, backoff_most=0.5, watch_seconds=2, grace=30)
    async with (
        watching(cluster.kubeconfig(in_time.name, token=in_time.token), policy=policy) as quiet,
        watching(cluster.kubeconfig(late.name, token=late.token), policy=policy) as seen,
    ):
        await quiet.synced()
        in_time.renew(cluster, seconds=600)
        # The server itself remembers for 10 s that it accepted a token
        await eventually(lambda: "401" in (seen.reflector.problem or ""), "the expiry is noticed and told")
        assert "expired" in (seen.reflector.problem or "")
        await kube.create("tenantcontrolplanes", _tcp("while-expired"))
        late.renew(cluster, seconds=600)
        await seen.knows("while-expired")
        await quiet.knows("while-expired")

        assert seen.reflector.problem is None
        assert (len(seen.syncs), len(quiet.syncs)) == (1, 1)
        assert quiet.reflector.stats.failures == 0


async def test_a_client_certificate_user(cluster: Cluster, kube: Kube) -> None:
    """A user known by certificate and given rights by name watches like any other; without rights it is told so."""
    user = fresh("cert")
    async with watching(cluster.kubeconfig(user), policy=_POLICY) as seen:
        await eventually(lambda: f'"{user}"' in (seen.reflector.problem or ""), "a refusal that names the user")
        subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
        await kube.allow(user, subject, [_rule("tenantcontrolplanes", *_EVERYTHING)])
        await seen.synced()

        assert seen.reflector.problem is None


def _tcp(name: str) -> Object:
    return {
        "apiVersion": "kamaji.clastix.io/v1alpha1",
        "kind": "TenantControlPlane",
        "metadata": {"name": name, "namespace": "tenants"},
        "spec": {},
    }
