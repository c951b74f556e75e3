"""One context of a kubeconfig, as ``kubernetes.aio`` reads it, mended where it would hide or forget something."""

from pathlib import Path
from typing import Any

import msgspec
from kubernetes.aio.client import Configuration
from kubernetes.aio.config.kube_config import ConfigNode, FileOrData, KubeConfigLoader

from kamaji_events.errors import SettingsError
from publisher.watch.exec_plugin import ExecCredential, ExecPlugin

__all__ = ["ContextLoader"]

_CLUSTER_INFO = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "certificate-authority-data")
"""What a plug-in that asks for the cluster is told; it names the members as the kubeconfig does."""


class ContextLoader(KubeConfigLoader):  # type: ignore[misc]  # the library has no types
    """The library's loader; it would log what a plug-in complains about and go on without credentials.

    Args:
        config: the merged files.
        context: a context that is in them.
    """

    _user: Any  # the library's

    def __init__(self, config: ConfigNode, context: str) -> None:
        # None as the base: paths are then relative to the file that names them
        super().__init__(config, active_context=context, config_base_path=None)
        self.credential: ExecCredential | None = None
        """What a plug-in gave."""
        if self._user is None:
            self._user = ConfigNode("user", {})

    async def read(self) -> Configuration:
        """Read files and run plug-ins.

        Raises:
            KamajiEventsError: from a plug-in.
            Exception: whatever the library does not expect; its text may quote secrets.
        """
        configuration = Configuration()
        await self.load_and_set(configuration)
        return configuration

    async def load_from_exec_plugin(self) -> bool:
        """Run the user's plug-in; called by the library."""
        plugin = msgspec.convert(self._user["exec"].value, ExecPlugin)
        cluster = {name: value for name, value in self._cluster.value.items() if name in _CLUSTER_INFO}
        self.credential = await plugin.run(Path(self._get_base_path(self._user.path) or "."), cluster)
        if self.credential.token is not None:
            self.token = f"Bearer {self.credential.token}"
        if self.credential.certificate is not None:
            self.cert_file = _as_file(self.credential.certificate)
            self.key_file = _as_file(self.credential.key)
        return True

    @property
    def token_file(self) -> Path | None:
        """The user's token file, which the library reads once and never again."""
        if "tokenFile" not in self._user or "token" in self._user:
            return None
        return Path(self._get_base_path(self._user.path), self._user["tokenFile"])

    @property
    def remembers(self) -> bool:
        """True when reading changed what is in memory (OIDC: a new refresh token) and it must be kept."""
        return bool(self.provider == "oidc")

    def _load_user_token(self) -> bool:
        """Leave token files to ``TokenFile``; called by the library."""
        if self.token_file is not None:
            return True
        token = self._user.safe_get("token")
        if not token:
            return False
        if not isinstance(token, str):
            raise SettingsError("the user's token in the kubeconfig is no text")
        self.token = f"Bearer {token.strip()}"
        return True


def _as_file(text: str | None) -> Any:
    found = FileOrData({"pem-data": text}, None, data_key_name="pem-data", base64_file_content=False)
    return found.as_file()
