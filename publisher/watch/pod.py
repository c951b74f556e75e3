"""Access from inside a pod, by its service account."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kamaji_events.errors import SettingsError
from publisher.watch.access import Access, tls_context
from publisher.watch.token_file import TokenFile

__all__ = ["PodCredentials", "in_pod"]

_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def in_pod(environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this process runs in a pod."""
    return bool(environ.get(_HOST) and environ.get(_PORT))


class PodCredentials:
    """The service account's token and authority, both of which the kubelet replaces now and then.

    Args:
        environ: where the server's address stands.
        folder: where the token and ``ca.crt`` are.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, folder: Path = _FOLDER) -> None:
        self._environ = environ
        self._folder = folder
        self._token = TokenFile(folder / "token")
        self._access: Access | None = None

    async def access(self) -> Access:
        """See ``Credentials``."""
        if self._access is None:
            self._access = self._load()
        return replace(self._access, authorization=self._token.header())

    def forget(self) -> None:
        """See ``Credentials``."""
        self._access = None
        self._token.forget()

    def _load(self) -> Access:
        host, port = self._environ.get(_HOST), self._environ.get(_PORT)
        if not host or not port:
            raise SettingsError(f"not in a pod: {_HOST} and {_PORT} are not set; give --kubeconfig")
        if not (self._folder / "token").exists():
            raise SettingsError(
                f"the pod has no service account token in {self._folder}: is automountServiceAccountToken off?"
            )
        address = f"[{host}]" if ":" in host else host
        return Access(
            server=f"https://{address}:{port}",
            origin="the pod's service account",
            tls=tls_context(ca=self._folder / "ca.crt", certificate=None, key=None, verify=True),
        )
