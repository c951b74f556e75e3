"""Exec plug-ins of a kubeconfig: a command that prints credentials (``client.authentication.k8s.io``).

``kubernetes.aio`` runs them too, but swallows their errors, waits for ever and hands them our standard input;
a service needs the error's text, a bound and no terminal.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from kamaji_events.errors import ClusterRefused, SettingsError

__all__ = ["ExecCredential", "ExecPlugin"]

_PATIENCE = 60.0
"""Seconds a plug-in may take."""
_GROUP = "client.authentication.k8s.io/"


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What a plug-in gave: a token, or a client certificate and its key (PEM)."""

    token: str | None = field(default=None, repr=False)
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    expires: datetime | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _Printed(msgspec.Struct, rename="camel"):
    api_version: str = ""
    status: _Status | None = None


class _Variable(msgspec.Struct):
    name: str
    value: str


class ExecPlugin(msgspec.Struct, rename="camel", frozen=True):
    """The ``exec`` section of a kubeconfig's user; decode it with ``msgspec.convert``."""

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"

    async def run(self, base: Path, cluster: Mapping[str, Any]) -> ExecCredential:
        """Run the command and read what it prints.

        Args:
            base: the kubeconfig's folder: a command with a slash is relative to it.
            cluster: the ``spec.cluster`` that the plug-in gets when it asks for it.

        Raises:
            SettingsError: the command is not there, or needs a terminal.
            ClusterRefused: it failed, took too long, or printed no credentials.
        """
        if self.interactive_mode == "Always":
            raise SettingsError(f"credentials plug-in {self.command} needs a terminal (interactiveMode: Always)")
        return self._credential(await self._output(self._program(base), self._environment(cluster)))

    def _program(self, base: Path) -> str:
        name = str(base / self.command) if "/" in self.command else self.command
        found = shutil.which(name)
        if found is None:
            hint = f": {' '.join(self.install_hint.split())[:200]}" if self.install_hint else ""
            raise SettingsError(f"credentials plug-in {self.command} is not installed{hint}")
        return found

    def _environment(self, cluster: Mapping[str, Any]) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": False}
        if self.provide_cluster_info:
            spec["cluster"] = dict(cluster)
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        extra = {variable.name: variable.value for variable in self.env or ()}
        return {**os.environ, **extra, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}

    async def _output(self, program: str, environment: Mapping[str, str]) -> bytes:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                program, *(self.args or ()), env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            raise SettingsError(f"credentials plug-in {self.command} cannot be run: {error.strerror}") from error
        try:
            async with asyncio.timeout(_PATIENCE):
                printed, complaint = await process.communicate()
        except TimeoutError as error:
            raise ClusterRefused(f"credentials plug-in {self.command} took more than {_PATIENCE:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = " ".join(complaint.decode(errors="replace").split())[-200:] or "it said nothing"
            raise ClusterRefused(f"credentials plug-in {self.command} failed (exit {process.returncode}): {said}")
        return printed

    def _credential(self, printed: bytes) -> ExecCredential:
        try:
            read = msgspec.json.decode(printed, type=_Printed)
        except msgspec.DecodeError as error:
            raise ClusterRefused(f"credentials plug-in {self.command} printed no ExecCredential") from error
        if not read.api_version.startswith(_GROUP) or read.api_version != self.api_version:
            raise ClusterRefused(
                f"credentials plug-in {self.command} printed apiVersion {read.api_version[:80]!r}, "
                f"the kubeconfig wants {self.api_version!r}"
            )
        status = read.status
        if status is None or not (status.token or (status.client_certificate_data and status.client_key_data)):
            raise ClusterRefused(
                f"credentials plug-in {self.command} printed neither a token nor a certificate and key"
            )
        return ExecCredential(
            status.token, status.client_certificate_data, status.client_key_data, status.expiration_timestamp
        )
