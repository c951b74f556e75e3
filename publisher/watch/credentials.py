"""Finds the credentials to use: a flag, KUBECONFIG, the pod's service account, ~/.kube/config, in this order."""

import os
from collections.abc import Mapping
from pathlib import Path

from kamaji_events.errors import SettingsError
from publisher.watch.access import Access, Credentials
from publisher.watch.kubeconfig import KubeconfigCredentials
from publisher.watch.pod import PodCredentials, in_pod

__all__ = ["FixedCredentials", "find_credentials"]


class FixedCredentials:
    """An access that never changes, such as a simulator's."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def access(self) -> Access:
        """See ``Credentials``."""
        return self._access

    def forget(self) -> None:
        """Nothing else is to be had."""


def find_credentials(
    kubeconfig: Path | None = None, context: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> Credentials:
    """Decide where access comes from; nothing is read yet.

    Args:
        kubeconfig: a file that was asked for.
        context: a context that was asked for; outside kubeconfigs it can not be.
        environ: the environment.

    Raises:
        SettingsError: nothing is there to use.
    """
    if kubeconfig is not None:
        return KubeconfigCredentials([kubeconfig.expanduser()], context)
    named = [Path(path).expanduser() for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    if named:
        return KubeconfigCredentials(named, context)
    if in_pod(environ) and context is None:
        return PodCredentials(environ)
    usual = Path(environ.get("HOME") or Path.home(), ".kube", "config")
    if usual.is_file():
        return KubeconfigCredentials([usual], context)
    raise SettingsError(
        f"no cluster to watch: there is no {usual}, KUBECONFIG is not set and this is no pod; give --kubeconfig"
    )
