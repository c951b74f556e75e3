"""The API client on the wire: TLS, credentials, proxies, and errors of the house."""

import asyncio
import inspect
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from aiohttp import web

from kamaji_events.errors import ClusterRefused, ClusterUnavailable, KamajiEventsError, SettingsError
from publisher.watch import api as module
from publisher.watch.access import Access
from publisher.watch.api import Api
from publisher.watch.ask import KAMAJI_GROUP, Ask, Target
from publisher.watch.credentials import FixedCredentials, find_credentials
from publisher.watch.discovery import cluster_uid, find_target, server_version
from tests.support.tiny_cluster import TinyCluster, status
from tests.watch.kubeconfigs import kubeconfig

TCPS = Target(KAMAJI_GROUP, "v1alpha1", "tenantcontrolplanes")
LIST = Ask.of("list", TCPS)


@pytest.fixture
def authority() -> trustme.CA:
    """An authority that the system does not know."""
    return trustme.CA()


def server_side(authority: trustme.CA, *names: str, ask_client: bool = False) -> ssl.SSLContext:
    """TLS of a server with such names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    if ask_client:
        context.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(context)
    return context


async def test_an_own_authority_is_trusted(authority: trustme.CA, tmp_path: Path) -> None:
    """The kubeconfig's authority, and no other."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    async with TinyCluster(tls=server_side(authority, "127.0.0.1")) as cluster:
        path = kubeconfig(tmp_path, cluster.url, {}, **{"certificate-authority": "ca.crt"})
        async with Api(find_credentials(path)) as api:
            assert b'"items"' in await api.get(LIST)


async def test_an_unknown_authority_is_not(authority: trustme.CA, tmp_path: Path) -> None:
    """Refused with a reason; skipping verification is the kubeconfig's decision."""
    async with TinyCluster(tls=server_side(authority, "127.0.0.1")) as cluster:
        async with Api(find_credentials(kubeconfig(tmp_path, cluster.url, {}))) as api:
            with pytest.raises(ClusterUnavailable, match=r"certificate is not accepted: .*(self-signed|issuer)"):
                await api.get(LIST)
        careless: dict[str, Any] = {"insecure-skip-tls-verify": True}
        path = kubeconfig(tmp_path, cluster.url, {}, **careless)
        async with Api(find_credentials(path)) as api:
            assert await api.get(LIST)


async def test_a_replaced_authority_is_found_without_a_restart(authority: trustme.CA, tmp_path: Path) -> None:
    """The next request after a certificate error reads the authority's file anew."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    async with TinyCluster(tls=server_side(authority, "127.0.0.1")) as cluster:
        path = kubeconfig(tmp_path, cluster.url, {}, **{"certificate-authority": "ca.crt"})
        async with Api(find_credentials(path)) as api:
            with pytest.raises(ClusterUnavailable):
                await api.get(LIST)
            authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
            assert await api.get(LIST)


async def test_a_server_name_other_than_the_address(authority: trustme.CA, tmp_path: Path) -> None:
    """tls-server-name says whose certificate is expected."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    async with TinyCluster(tls=server_side(authority, "kubernetes.example")) as cluster:
        members = {"certificate-authority": "ca.crt", "tls-server-name": "kubernetes.example"}
        async with Api(find_credentials(kubeconfig(tmp_path, cluster.url, {}, **members))) as api:
            assert await api.get(LIST)


async def test_a_client_certificate_is_shown(authority: trustme.CA, tmp_path: Path) -> None:
    """A server that asks for one gets it."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    client = authority.issue_cert("me")
    client.cert_chain_pems[0].write_to_path(str(tmp_path / "me.crt"))
    client.private_key_pem.write_to_path(str(tmp_path / "me.key"))
    user = {"client-certificate": "me.crt", "client-key": "me.key"}
    async with TinyCluster(tls=server_side(authority, "127.0.0.1", ask_client=True)) as cluster:
        path = kubeconfig(tmp_path, cluster.url, user, **{"certificate-authority": "ca.crt"})
        async with Api(find_credentials(path)) as api:
            assert await api.get(LIST)


async def test_a_rotated_token_is_used_after_one_refusal(cluster: TinyCluster, tmp_path: Path) -> None:
    """401 reads the credentials anew and asks once more."""
    (tmp_path / "token").write_text("one")
    cluster.token = "one"
    async with Api(find_credentials(kubeconfig(tmp_path, cluster.url, {"tokenFile": "token"}))) as api:
        await api.get(LIST)
        cluster.token = "two"
        (tmp_path / "token").write_text("two")
        await api.get(LIST)
        assert api.renewals == 1
        async with api.stream(Ask.of("watch", TCPS, watch="true", timeoutSeconds="1")):
            pass
    assert cluster.count("list") == 3


async def test_credentials_that_stay_refused_are_told(cluster: TinyCluster, tmp_path: Path) -> None:
    """Two tries, then a line that says whose credentials they were, without them."""
    cluster.token = "right"
    async with Api(find_credentials(kubeconfig(tmp_path, cluster.url, {"token": "wr0ng"}))) as api:
        with pytest.raises(
            ClusterRefused, match=r"answers 401: credentials of context 'here' of kubeconfig .*expired"
        ) as e:
            await api.get(LIST)
    assert "wr0ng" not in str(e.value)
    assert cluster.count("list") == 2


async def test_no_credentials_at_all_are_told_as_such(cluster: TinyCluster, tmp_path: Path) -> None:
    """A user entry without anything in it is a usual mistake."""
    cluster.token = "right"
    async with Api(find_credentials(kubeconfig(tmp_path, cluster.url, {}))) as api:
        with pytest.raises(ClusterRefused, match="holds no credentials"):
            await api.get(LIST)


async def test_a_server_that_is_not_there(unused_tcp_port: int) -> None:
    """Refused connections name the address and the reason."""
    url = f"http://127.0.0.1:{unused_tcp_port}"
    async with Api(FixedCredentials(Access(url, "a test"))) as api:
        with pytest.raises(ClusterUnavailable, match=rf"{url} cannot be reached: .*refused"):
            await api.get(LIST)


async def test_a_name_that_is_not_known() -> None:
    """A kubeconfig that points nowhere."""
    async with Api(FixedCredentials(Access("http://no-such-host.invalid", "a test"))) as api:
        with pytest.raises(ClusterUnavailable, match="cannot be reached"):
            await api.get(LIST)


async def test_an_address_that_is_none() -> None:
    """A person must mend it."""
    async with Api(FixedCredentials(Access("http://[nonsense", "a test"))) as api:
        with pytest.raises(SettingsError, match="cannot be used"):
            await api.get(LIST)


async def test_a_connection_that_is_cut_within_an_answer(cluster: TinyCluster) -> None:
    """Half a list is no list."""

    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.abort()
        return response

    cluster.scripts["list"].append(half)
    async with Api(FixedCredentials(Access(cluster.url, "a test"))) as api:
        with pytest.raises(ClusterUnavailable, match="connection was lost"):
            await api.get(LIST)


async def test_a_proxy_of_the_kubeconfig_is_used(cluster: TinyCluster) -> None:
    """proxy-url: the request goes there, with the server's address in it."""
    access = Access("http://cluster.invalid", "a test", proxy=cluster.url)
    async with Api(FixedCredentials(access)) as api:
        await api.get(LIST)
    assert cluster.asked[0].headers["Host"] == "cluster.invalid"


async def test_a_proxy_that_is_not_there(unused_tcp_port: int) -> None:
    """It is told that it was the proxy."""
    access = Access("http://cluster.invalid", "a test", proxy=f"http://127.0.0.1:{unused_tcp_port}")
    async with Api(FixedCredentials(access)) as api:
        with pytest.raises(ClusterUnavailable, match="the proxy cannot be reached"):
            await api.get(LIST)


async def test_an_unfinished_watch_does_not_keep_its_connection(cluster: TinyCluster) -> None:
    """Leaving a watch cuts it: the server must not go on sending into a pool."""
    async with Api(FixedCredentials(Access(cluster.url, "a test"))) as api:
        for _ in range(40):  # more than the pool holds
            async with asyncio.timeout(20), api.stream(Ask.of("watch", TCPS, watch="true")):
                pass
    assert cluster.count("watch") == 40


def test_every_error_of_the_library_is_mapped() -> None:
    """An error that aiohttp may add later must not pass through unseen."""
    kinds = [kind for kind in vars(aiohttp.client_exceptions).values() if inspect.isclass(kind)]
    errors = [kind for kind in kinds if issubclass(kind, aiohttp.ClientError)]
    assert len(errors) > 20
    for kind in errors:
        error = kind.__new__(kind)
        vars(error).update(status=0, message="", _os_error=OSError("x"), _certificate_error=ValueError("x"))
        with pytest.raises(KamajiEventsError), module._reaching("server"):
            raise error


async def test_the_preferred_version_is_used_when_two_are_served(cluster: TinyCluster) -> None:
    """Where the preferred one lacks the kind, the other one is."""

    async def group(_: web.Request) -> web.Response:
        versions = [{"version": "v1"}, {"version": "v1alpha1"}]
        return web.json_response({"versions": versions, "preferredVersion": {"version": "v1"}})

    async def stores_only(_: web.Request) -> web.Response:
        return web.json_response({"resources": [{"name": "datastores"}, {"name": "datastores/status"}]})

    async with Api(FixedCredentials(Access(cluster.url, "a test"))) as api:
        for resource, version in (("datastores", "v1"), ("tenantcontrolplanes", "v1alpha1")):
            cluster.scripts["discovery"].extend([group, stores_only])
            assert await find_target(api, resource) == Target(KAMAJI_GROUP, version, resource)


async def test_forbidden_discovery_falls_back_to_the_usual_version(cluster: TinyCluster) -> None:
    """Some clusters take discovery away from service accounts."""

    async def no(_: web.Request) -> web.Response:
        return web.json_response(status(403, "Forbidden", "no"), status=403)

    cluster.scripts["discovery"].append(no)
    async with Api(FixedCredentials(Access(cluster.url, "a test"))) as api:
        assert await find_target(api, "datastores") == Target(KAMAJI_GROUP, "v1alpha1", "datastores")


async def test_a_cluster_is_known_by_its_kube_system(cluster: TinyCluster) -> None:
    """Its uid tells a restored cluster from another one; who may not read it knows nothing."""

    async def namespace(_: web.Request) -> web.Response:
        return web.json_response({"metadata": {"uid": "the-one"}})

    async def no(_: web.Request) -> web.Response:
        return web.json_response(status(403, "Forbidden", "no"), status=403)

    cluster.scripts["other"].extend([namespace, no])
    async with Api(FixedCredentials(Access(cluster.url, "a test"))) as api:
        assert await cluster_uid(api) == "the-one"
        assert await cluster_uid(api) is None


async def test_the_servers_release_is_known(cluster: TinyCluster) -> None:
    """What else answers there is told apart from an API server."""

    async def release(_: web.Request) -> web.Response:
        return web.json_response({"gitVersion": "v1.36.3"})

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>")

    cluster.scripts["other"].extend([release, page])
    async with Api(FixedCredentials(Access(cluster.url, "a test"))) as api:
        assert await server_version(api) == "v1.36.3"
        with pytest.raises(ClusterUnavailable, match="is it an API server"):
            await server_version(api)


def test_an_expired_client_certificate_is_named() -> None:
    """The server only says 401."""
    ended = datetime(2026, 11, 30, tzinfo=UTC)
    access = Access("https://x", "context 'a' of kubeconfig b", certificate_ends=ended)
    assert "client certificate of context 'a' of kubeconfig b expired at 2026-11-30" in access.excuse(
        datetime(2026, 12, 1, tzinfo=UTC)
    )
