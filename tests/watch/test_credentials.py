"""Where access comes from, how it is kept fresh, and what is said when it cannot be had."""

import base64
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from kamaji_events.errors import ClusterRefused, SettingsError
from publisher.watch.credentials import find_credentials
from publisher.watch.kubeconfig import KubeconfigCredentials
from publisher.watch.pod import PodCredentials
from publisher.watch.token_file import TokenFile
from tests.watch.kubeconfigs import kubeconfig, plugin

SECRET = "s3cr3t-t0ken"


def given(token: str, **status: Any) -> str:
    """A shell script that prints a credential."""
    printed = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    return f"echo '{json.dumps(printed | {'status': {'token': token, **status}})}'"


async def header(credentials: Any) -> str | None:
    """The Authorization header of now."""
    return (await credentials.access()).authorization  # type: ignore[no-any-return]


async def test_a_token_in_the_kubeconfig(tmp_path: Path) -> None:
    """The simplest kubeconfig."""
    access = await find_credentials(kubeconfig(tmp_path, "http://localhost:1/", {"token": f"{SECRET}\n"})).access()
    assert access.server == "http://localhost:1"
    assert access.authorization == f"Bearer {SECRET}"
    assert SECRET not in repr(access)


async def test_the_order_in_which_credentials_are_looked_for(tmp_path: Path) -> None:
    """A flag, KUBECONFIG, the pod, the home folder; nothing is a clear message."""
    home = tmp_path / ".kube"
    home.mkdir()
    kubeconfig(home, "http://home")
    flag, named = kubeconfig(tmp_path, "http://flag", name="f"), kubeconfig(tmp_path, "http://named", name="n")
    environ = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert isinstance(find_credentials(environ=environ), PodCredentials)

    environ["KUBECONFIG"] = f"{tmp_path}/missing{os.pathsep}{named}"
    assert (await find_credentials(environ=environ).access()).server == "http://named"
    assert (await find_credentials(flag, environ=environ).access()).server == "http://flag"
    assert (await find_credentials(environ={"HOME": str(tmp_path)}).access()).server == "http://home"
    with pytest.raises(SettingsError, match=r"no cluster to watch.*give --kubeconfig"):
        find_credentials(environ={"HOME": str(tmp_path / "nobody")})


async def test_merged_kubeconfigs_keep_the_first_current_context(tmp_path: Path) -> None:
    """As kubectl does it: the first file that names something wins."""
    first, second = kubeconfig(tmp_path, "http://first", name="1"), kubeconfig(tmp_path, "http://second", name="2")
    document = json.loads(second.read_text()) | {"current-context": "there"}
    document["contexts"].append({"name": "there", "context": {"cluster": "c"}})
    second.write_text(json.dumps(document))
    environ = {"KUBECONFIG": f"{first}{os.pathsep}{second}"}
    assert "'here'" in (await find_credentials(environ=environ).access()).origin
    assert "'there'" in (await find_credentials(None, "there", environ=environ).access()).origin


CLUSTER = "{name: c, cluster: {server: 'http://x'}}"
CONTEXTS = "contexts: [{name: a, context: {cluster: c, user: u}}], current-context: a"
BROKEN = [
    ("clusters: [", "is no YAML near line"),
    ("just text", "is no kubeconfig"),
    ("", "is no kubeconfig"),
    ("{clusters: [], contexts: [], users: []}", "no current context"),
    (f"{{clusters: [], {CONTEXTS}}}", "names the cluster 'c'"),
    (f"{{clusters: [{CLUSTER}], users: [], {CONTEXTS}}}", "names the user 'u', which is not there"),
    (f"{{clusters: [{{name: c, cluster: {{}}}}], users: [{{name: u}}], {CONTEXTS}}}", "server"),
    (f"{{clusters: [{{name: c, token: {SECRET}}}], users: [{{name: u}}], {CONTEXTS}}}", "the cluster 'c' is empty"),
    (f"{{clusters: [{CLUSTER}], users: [{{name: u, user: {SECRET}}}], {CONTEXTS}}}", "malformed"),
    ("{clusters: 5, contexts: 6, current-context: a}", "malformed"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
async def test_a_broken_kubeconfig_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    """Every way to be wrong names the file and what is wrong, and quotes no secret."""
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        await find_credentials(path).access()
    assert str(path) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({"tokenFile": "missing"}, {}, "token file .*missing cannot be used"),
        ({"client-certificate": "missing", "client-key": "missing"}, {}, "File does not exists: .*missing"),
        ({"client-certificate-data": "AAAA", "client-key-data": "AAAA"}, {}, "certificate files cannot be used"),
        ({}, {"certificate-authority": "missing"}, "File does not exists"),
        ({}, {"certificate-authority-data": "%%%"}, "malformed|cannot be used"),
        ({}, {"proxy-url": "socks5://p"}, "proxy-url must be a URL"),
        ({"exec": {"command": "no-such-plugin", "apiVersion": "v1", "installHint": "get it"}}, {}, "installed: get it"),
        ({"exec": {"command": "true"}}, {}, "malformed"),
        ({"exec": {"command": "true", "apiVersion": "v1", "interactiveMode": "Always"}}, {}, "needs a terminal"),
    ],
)
async def test_unusable_entries_are_told_in_one_line(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], message: str
) -> None:
    """What an entry names must be there and usable."""
    path = kubeconfig(tmp_path, "https://localhost:1", user, **cluster)
    with pytest.raises(SettingsError, match=message):
        await find_credentials(path).access()


async def test_a_missing_kubeconfig_and_an_unknown_context(tmp_path: Path) -> None:
    """The file or the contexts that there are."""
    with pytest.raises(SettingsError, match=r"nowhere does not exist: give --kubeconfig"):
        await find_credentials(tmp_path / "nowhere").access()
    with pytest.raises(SettingsError, match=r"has no context 'prod': there is here"):
        await find_credentials(kubeconfig(tmp_path, "http://x", {}), "prod").access()


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    """Tokens rotate in place; a file that cannot be read for a moment leaves the former one."""
    path, now = tmp_path / "token", [0.0]
    path.write_text("one\n")
    token = TokenFile(path, clock=lambda: now[0])
    assert token.header() == "Bearer one"
    path.write_text("two")
    assert token.header() == "Bearer one"
    now[0] = 60.0
    assert token.header() == "Bearer two"
    path.unlink()
    token.forget()
    assert token.header() == "Bearer two"
    path.write_text("three")
    token.forget()
    assert token.header() == "Bearer three"


async def test_a_token_file_of_a_kubeconfig_rotates_too(tmp_path: Path) -> None:
    """Relative to the kubeconfig; read anew once it was refused."""
    (tmp_path / "token").write_text("one")
    credentials = find_credentials(kubeconfig(tmp_path, "http://x", {"tokenFile": "token"}))
    assert await header(credentials) == "Bearer one"
    (tmp_path / "token").write_text("two")
    credentials.forget()
    assert await header(credentials) == "Bearer two"


async def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    """Token and authority from the kubelet's folder; IPv6 in brackets; the token follows its rotation."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("one\n")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    credentials = PodCredentials(environ, tmp_path)
    access = await credentials.access()
    assert (access.server, access.authorization) == ("https://[fd00::1]:443", "Bearer one")
    (tmp_path / "token").write_text("two\n")
    credentials.forget()
    assert await header(credentials) == "Bearer two"


async def test_a_pod_without_a_service_account_is_told(tmp_path: Path) -> None:
    """automountServiceAccountToken: false is the usual cause."""
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(SettingsError, match="automountServiceAccountToken"):
        await PodCredentials(environ, tmp_path).access()


async def test_a_plugin_gives_a_token_and_is_asked_again_when_it_expires(tmp_path: Path) -> None:
    """It runs once, until the expiry that it named or a refusal; it sees where it runs."""
    now = datetime(2026, 12, 1, tzinfo=UTC)
    expires = (now + timedelta(minutes=1)).isoformat().replace("+00:00", "Z")
    runs = tmp_path / "runs"
    user = plugin(tmp_path, f"echo x >> {runs}\n" + given("token", expirationTimestamp=expires))
    times = [now]
    credentials = KubeconfigCredentials([kubeconfig(tmp_path, "http://x", user)], None, now=lambda: times[0])
    assert await header(credentials) == "Bearer token"
    await credentials.access()
    assert runs.read_text().count("x") == 1
    times[0] = now + timedelta(seconds=55)
    await credentials.access()
    assert runs.read_text().count("x") == 2
    credentials.forget()
    await credentials.access()
    assert runs.read_text().count("x") == 3


async def test_a_plugin_is_told_of_the_cluster_when_it_asks(tmp_path: Path) -> None:
    """ProvideClusterInfo and env reach it."""
    user = plugin(tmp_path, f'echo "$KUBERNETES_EXEC_INFO $MINE" > {tmp_path}/info\n' + given("t"))
    user["exec"] |= {"provideClusterInfo": True, "env": [{"name": "MINE", "value": "yes"}], "args": ["a"]}
    await find_credentials(kubeconfig(tmp_path, "http://x", user)).access()
    info, _, mine = (tmp_path / "info").read_text().strip().rpartition(" ")
    assert mine == "yes"
    assert json.loads(info)["spec"] == {"interactive": False, "cluster": {"server": "http://x"}}


async def test_a_plugin_gives_a_client_certificate(tmp_path: Path) -> None:
    """Certificate and key in place of a token; its end is known."""
    authority = trustme.CA()
    client = authority.issue_cert("client")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    status = {
        "clientCertificateData": client.cert_chain_pems[0].bytes().decode(),
        "clientKeyData": client.private_key_pem.bytes().decode(),
    }
    printed = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    (tmp_path / "printed").write_text(json.dumps(printed))
    user = plugin(tmp_path, f"cat {tmp_path}/printed")
    access = await find_credentials(kubeconfig(tmp_path, "https://x", user)).access()
    assert access.authorization is None
    assert access.certificate_ends is not None


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'log in first' >&2; exit 3", r"failed \(exit 3\): log in first"),
        ("echo nonsense", "printed no ExecCredential"),
        ('echo \'{"apiVersion":"client.authentication.k8s.io/v1"}\'', "neither a token nor"),
        ('echo \'{"apiVersion":"client.authentication.k8s.io/v1beta1"}\'', "printed apiVersion"),
        ("echo '{}'", "printed apiVersion"),
    ],
)
async def test_a_plugin_that_fails_is_told_in_one_line(tmp_path: Path, script: str, message: str) -> None:
    """Its own words are passed on, what it prints as a credential is not."""
    path = kubeconfig(tmp_path, "http://x", plugin(tmp_path, script))
    with pytest.raises(ClusterRefused, match=message):
        await find_credentials(path).access()


async def test_a_kubeconfig_that_was_replaced_is_read_anew_after_a_refusal(tmp_path: Path) -> None:
    """Somebody renewed the file: no restart is needed."""
    path = kubeconfig(tmp_path, "http://x", {"token": "one"})
    credentials = find_credentials(path)
    assert await header(credentials) == "Bearer one"
    kubeconfig(tmp_path, "http://x", {"token": "two"})
    assert await header(credentials) == "Bearer one"
    credentials.forget()
    assert await header(credentials) == "Bearer two"


async def test_basic_credentials(tmp_path: Path) -> None:
    """Proxies in front of an API server still use them."""
    path = kubeconfig(tmp_path, "http://x", {"username": "me", "password": "pw"})
    assert await header(find_credentials(path)) == "Basic " + base64.b64encode(b"me:pw").decode()


@pytest.mark.parametrize("server", ["ftp://x", "x:6443", "https://", "https://[x", "https://x:port", "5"])
async def test_a_server_that_is_no_url(tmp_path: Path, server: str) -> None:
    """Told at the start, with what it must be."""
    with pytest.raises(SettingsError, match="must be a URL with https://"):
        await find_credentials(kubeconfig(tmp_path, server, {})).access()


async def test_an_oidc_token_is_used_and_kept(tmp_path: Path) -> None:
    """A fresh id-token needs no identity provider; an entry without one that cannot be refreshed is told."""
    claims = base64.b64encode(json.dumps({"exp": 4_000_000_000}).encode()).decode().rstrip("=")
    provider = {"name": "oidc", "config": {"id-token": f"a.{claims}.c"}}
    credentials = find_credentials(kubeconfig(tmp_path, "http://x", {"auth-provider": provider}))
    assert await header(credentials) == f"Bearer a.{claims}.c"
    credentials.forget()
    assert await header(credentials) == f"Bearer a.{claims}.c"

    without = {"auth-provider": {"name": "oidc", "config": {"client-id": "c"}}}
    with pytest.raises(SettingsError, match="oidc: No valid id-token"):
        await find_credentials(kubeconfig(tmp_path, "http://x", without)).access()


async def test_a_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets a bound, and no process of it stays."""
    monkeypatch.setattr("publisher.watch.exec_plugin._PATIENCE", 0.05)
    path = kubeconfig(tmp_path, "http://x", plugin(tmp_path, "exec sleep 1000"))
    with pytest.raises(ClusterRefused, match="took more than"):
        await find_credentials(path).access()


async def test_a_plugin_that_is_no_program_is_told(tmp_path: Path) -> None:
    """Executable, yet nothing that can be run."""
    user = plugin(tmp_path, "")
    (tmp_path / "plugin").write_bytes(b"\x7fELF nonsense")
    with pytest.raises(SettingsError, match="cannot be run"):
        await find_credentials(kubeconfig(tmp_path, "http://x", user)).access()
