"""A real API server on a real etcd: no nodes, no controllers, nothing but what serves and stores objects.

Its certificates, keys, data and logs lie in one folder; both listen on free ports of 127.0.0.1. There is no compaction
but the one that a test asks for.
"""

import json
import shutil
import ssl
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.apiserver.binaries import Binaries
from tests.apiserver.credentials import AUDIENCE, ISSUER, Credentials
from tests.apiserver.process import ServerProcess, free_port

__all__ = ["ADMIN", "Cluster"]

ADMIN = "admin"
"""A client-certificate user who may do everything."""


class Cluster:
    """etcd and kube-apiserver.

    Args:
        binaries: what to run.
        folder: an empty folder for everything that they write.
    """

    def __init__(self, binaries: Binaries, folder: Path) -> None:
        self.folder = folder
        self.credentials = Credentials(folder)
        self._data = folder / "etcd"
        self._etcd_url = f"http://127.0.0.1:{free_port()}"
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        """Where the API is."""
        self._certificates = {ADMIN: self.credentials.client(ADMIN, "system:masters")}
        self.trust = ssl.create_default_context(cafile=str(self.credentials.ca))
        """How anybody connects who trusts the authority."""
        self._etcd = ServerProcess(self._etcd_command(binaries.etcd), folder / "etcd.log", self._etcd_healthy)
        self.server = ServerProcess(self._command(binaries.apiserver), folder / "apiserver.log", self._healthy)
        """The API server's process."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start both, and wait until the API is ready."""
        self._etcd.launch()
        self.server.launch()
        self.server.ready()

    def stop(self) -> None:
        """End both, the hard way: in order the API server waits for its watchers, up to a minute."""
        self.server.kill()
        self._etcd.kill()

    def _etcd_command(self, program: Path) -> list[str]:
        peers = f"http://127.0.0.1:{free_port()}"
        return [
            str(program),
            f"--data-dir={self._data}",
            "--name=test",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=test={peers}",
            "--unsafe-no-fsync",
            "--watch-progress-notify-interval=5s",  # as Kubernetes installers set it
            "--log-level=warn",
        ]

    def _command(self, program: Path) -> list[str]:
        certificate, key = self.credentials.server()
        return [
            str(program),
            f"--etcd-servers={self._etcd_url}",
            "--etcd-compaction-interval=0",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self.folder / 'apiserver'}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self.credentials.ca}",
            "--authorization-mode=RBAC",
            f"--service-account-issuer={ISSUER}",
            f"--api-audiences={AUDIENCE}",
            f"--service-account-signing-key-file={self.credentials.accounts_key}",
            f"--service-account-key-file={self.credentials.accounts_key}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--endpoint-reconciler-type=none",
            "--profiling=false",
        ]

    def _etcd_healthy(self) -> bool:
        try:
            return '"true"' in httpx.get(f"{self._etcd_url}/health", timeout=2).text
        except httpx.HTTPError:
            return False

    def _healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2, verify=self.trust).is_success
        except httpx.HTTPError:
            return False

    def tls(self, user: str = ADMIN) -> ssl.SSLContext:
        """How a client-certificate user connects."""
        context = ssl.create_default_context(cafile=str(self.credentials.ca))
        context.load_cert_chain(*map(str, self._certificate(user)))
        return context

    def _certificate(self, user: str) -> tuple[Path, Path]:
        if user not in self._certificates:
            self._certificates[user] = self.credentials.client(user)
        return self._certificates[user]

    def kubeconfig(self, user: str = ADMIN, *, url: str | None = None, token: Path | None = None) -> Path:
        """A kubeconfig file of a client-certificate user, or of whoever's token is in a file.

        Args:
            user: the user's name.
            url: where the API is reached, when through something in between.
            token: file with a bearer token, instead of the certificate.
        """
        who: dict[str, Any] = {"tokenFile": str(token)} if token else {}
        if not token:
            certificate, key = self._certificate(user)
            who = {"client-certificate": str(certificate), "client-key": str(key)}
        server = {"server": url or self.url, "certificate-authority": str(self.credentials.ca)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": user, "user": who}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        }
        path = self.folder / f"kubeconfig-{user}-{httpx.URL(server['server']).port}.json"
        path.write_text(json.dumps(content))
        return path

    def compact(self) -> None:
        """Forget every revision of etcd before the present one, at once."""
        self._etcd_call("kv/compaction", {"revision": self.revision(), "physical": True})

    def revision(self) -> int:
        """The revision that etcd is at: the newest resourceVersion."""
        return int(self._etcd_call("kv/range", {"key": "AA==", "count_only": True})["header"]["revision"])

    def _etcd_call(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = httpx.post(f"{self._etcd_url}/v3/{what}", json=body, timeout=20).raise_for_status()
        content: dict[str, Any] = answer.json()
        return content

    def snapshot(self, name: str) -> Path:
        """Copy etcd's data while it is stopped for a moment, as a backup would hold it.

        It is killed: an orderly stop waits seconds for the API server to let go.
        """
        copy = self.folder / f"snapshot-{name}"
        self._etcd.kill()
        shutil.copytree(self._data, copy)
        self._etcd.start()
        return copy

    def restore(self, snapshot: Path) -> None:
        """Put a snapshot in the place of the data: every version after it never was."""
        self.stop()
        shutil.rmtree(self._data)
        shutil.copytree(snapshot, self._data)
        self.start()
