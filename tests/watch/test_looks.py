"""Questions to the API server: what is left of a deleted control plane, and how its migrate Job does."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from kamaji_events.errors import ClusterError, ClusterRefused, ClusterUnavailable, KindMissing
from publisher.lifecycle.looks import Found, Look, LookKind
from publisher.looks import answer
from publisher.watch.ask import METADATA_ONLY, Ask

LOOK = Look(LookKind.CLEANUP, "tenants", "acme", "uid-1")
JOB = Look(LookKind.MIGRATE_JOB, "tenants", "acme", "uid-1")


@dataclass
class Settings:
    """What may be listed."""

    watch_secrets: bool = False
    kamaji_namespace: str = "kamaji-system"


@dataclass
class Lists:
    """A source of lists: by path, items or the errors that come first."""

    items: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: dict[str, list[ClusterError]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    asked: list[Ask] = field(default_factory=list)
    server: str = "https://lists"

    async def get(self, ask: Ask) -> bytes:
        """See ``Source``."""
        self.asked.append(ask)
        if self.errors.get(ask.path):
            raise self.errors[ask.path].pop(0)
        if ask.verb == "get":
            if ask.path not in self.groups:
                raise KindMissing(ask.path)
            return self.groups[ask.path].encode()
        items, start = self.items.get(ask.path) or [], int(ask.params.get("continue", "0"))
        following = {"continue": str(start + 1)} if start + 1 < len(items) else {}
        return json.dumps({"metadata": following, "items": items[start : start + 1] or None}).encode()

    def stream(self, ask: Ask) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Never asked for."""
        raise NotImplementedError(ask.path)


def owned(name: str, **metadata: Any) -> dict[str, Any]:
    """An owned object."""
    return {"metadata": {"name": name, "ownerReferences": [{"uid": "uid-1", "kind": "TenantControlPlane"}], **metadata}}


async def no_wait(_: float) -> None:
    """Do not wait."""


async def test_everything_that_is_left_is_found_page_by_page() -> None:
    """Owners, finalizers and deletion come with each object, whatever page it is on."""
    source = Lists()
    source.items["/api/v1/namespaces/tenants/configmaps"] = [
        owned("acme-kubeadmconfig"),
        owned("acme-other", finalizers=["f"], deletionTimestamp="2026-12-01T10:00:00Z"),
    ]
    said = await answer(source, LOOK, Settings())
    assert said.found == (
        Found("ConfigMap", "acme-kubeadmconfig", ("uid-1",)),
        Found("ConfigMap", "acme-other", ("uid-1",), deleting=True, finalizers=("f",)),
    )
    assert said.look == LOOK


async def test_only_metadata_is_asked_for() -> None:
    """Every list of owned kinds asks for metadata, by the label of the name."""
    source = Lists()
    await answer(source, LOOK, Settings(watch_secrets=True))
    lists = [ask for ask in source.asked if ask.verb == "list"]
    assert {ask.accept for ask in lists} == {METADATA_ONLY}
    assert {ask.params["labelSelector"] for ask in lists} == {"kamaji.clastix.io/name=acme"}


async def test_secrets_are_listed_when_the_operator_opted_in() -> None:
    """Listing Secrets needs the right to read them; without the option they are unverified."""
    without = await answer(Lists(), LOOK, Settings())
    assert without.verified == ("Deployment", "Service", "ConfigMap", "Ingress")
    assert without.unverified == ("Secret",)

    source = Lists()
    listed = await answer(source, LOOK, Settings(watch_secrets=True))
    assert "Secret" in listed.verified
    assert listed.unverified == ()


async def test_a_kind_without_rights_is_unverified() -> None:
    """403 on one kind costs that kind only."""
    source = Lists(errors={"/api/v1/namespaces/tenants/services": [ClusterRefused("no")]})
    said = await answer(source, LOOK, Settings())
    assert said.verified == ("Deployment", "ConfigMap", "Ingress")
    assert said.unverified == ("Service", "Secret")


async def test_trouble_is_tried_again_and_then_unverified() -> None:
    """A 503 that passes is no reason to leave a kind unverified, one that stays is."""
    path = "/apis/apps/v1/namespaces/tenants/deployments"
    passing = await answer(Lists(errors={path: [ClusterUnavailable("503")] * 3}), LOOK, Settings(), sleep=no_wait)
    assert "Deployment" in passing.verified
    staying = await answer(Lists(errors={path: [ClusterUnavailable("503")] * 4}), LOOK, Settings(), sleep=no_wait)
    assert "Deployment" in staying.unverified


async def test_gateway_routes_are_looked_for_where_the_group_exists() -> None:
    """Each route in the version that the server has it in."""
    group = "/apis/gateway.networking.k8s.io"
    source = Lists(
        groups={
            group: '{"versions":[{"version":"v1"},{"version":"v1alpha2"}],"preferredVersion":{"version":"v1"}}',
            f"{group}/v1": '{"resources":[{"name":"httproutes"},{"name":"grpcroutes"}]}',
            f"{group}/v1alpha2": '{"resources":[{"name":"tlsroutes"}]}',
        }
    )
    path = f"{group}/v1alpha2/namespaces/tenants/tlsroutes"
    source.items[path] = [owned("acme")]
    said = await answer(source, LOOK, Settings())
    assert {"HTTPRoute", "GRPCRoute", "TLSRoute"} <= set(said.verified)
    assert said.found == (Found("TLSRoute", "acme", ("uid-1",)),)


async def test_a_migrate_job_is_looked_for_in_kamajis_namespace() -> None:
    """The Job's condition becomes its state; a running one has none yet."""
    path = "/apis/batch/v1/namespaces/kamaji-system/jobs"
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "it  has\nfailed"}
    source = Lists(items={path: [owned("migrate") | {"status": {"conditions": [failed]}}, owned("second")]})
    said = await answer(source, JOB, Settings())
    assert [(found.name, found.state, found.message) for found in said.found] == [
        ("migrate", "Failed", "it has failed"),
        ("second", "Running", ""),
    ]
    selector = "tcp.kamaji.clastix.io/name=acme,tcp.kamaji.clastix.io/namespace=tenants"
    assert {ask.params["labelSelector"] for ask in source.asked} == {selector}


async def test_a_migrate_job_that_may_not_be_read_is_unverified() -> None:
    """Without the right to list Jobs nothing is known of it."""
    source = Lists(errors={"/apis/batch/v1/namespaces/kamaji-system/jobs": [ClusterRefused("no")]})
    said = await answer(source, JOB, Settings())
    assert (said.verified, said.unverified) == ((), ("Job",))
