"""Access by a kubeconfig file, or several merged ones, with errors that a person can act on.

The library's own error texts can quote whole entries, keys and tokens included, so they are never passed on.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.kube_config import ConfigNode, KubeConfigMerger

from kamaji_events.errors import KamajiEventsError, SettingsError
from publisher.watch.access import Access, certificate_end, tls_context
from publisher.watch.kubeconfig_loader import ContextLoader
from publisher.watch.token_file import TokenFile

__all__ = ["KubeconfigCredentials"]

_SAFE = ("File does not exists", "oidc:")
"""Starts of library messages that quote nothing, or a path."""
_EARLY = timedelta(seconds=10)
"""How long before its end a plug-in's credential is replaced."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class KubeconfigCredentials:
    """Access by one context; files are read and plug-ins run anew when it expires or was refused.

    Args:
        paths: files, merged in this order as kubectl does it.
        context: None for the current one.
        now: the time of now in UTC, for what plug-ins say of expiry.
    """

    def __init__(self, paths: list[Path], context: str | None, *, now: Callable[[], datetime] = _utc_now) -> None:
        self._paths = paths
        self._context = context
        self._now = now
        self._access: Access | None = None
        self._expires: datetime | None = None
        self._token_file: TokenFile | None = None
        self._kept: tuple[object, ConfigNode] | None = None

    async def access(self) -> Access:
        """See ``Credentials``."""
        if self._access is None or (self._expires is not None and self._now() + _EARLY >= self._expires):
            self._access = await self._load()
        if self._token_file is None:
            return self._access
        return replace(self._access, authorization=self._token_file.header())

    def forget(self) -> None:
        """See ``Credentials``."""
        self._access = None

    @property
    def _where(self) -> str:
        return f"kubeconfig {os.pathsep.join(map(str, self._paths))}"

    async def _load(self) -> Access:
        config, state = self._config()
        context = _known_context(config, self._context, self._where)
        with _mapped(f"{self._where}, context {context!r}"):
            loader = ContextLoader(config, context)
            configuration = await loader.read()
        self._kept = (state, config) if loader.remembers else None
        path = loader.token_file
        self._token_file = TokenFile(path) if path is not None else None
        self._expires = loader.credential.expires if loader.credential is not None else None
        return _access(configuration, f"context {context!r} of {self._where}")

    def _config(self) -> tuple[ConfigNode, object]:
        present = [path for path in self._paths if path.is_file()]
        if not present:
            raise SettingsError(f"{self._where} does not exist: give --kubeconfig or set KUBECONFIG")
        with _mapped(self._where):
            state = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in present)
            if self._kept is not None and self._kept[0] == state:
                return self._kept[1], state
            first = [_document(path).get("current-context") for path in present]
            config = KubeConfigMerger(os.pathsep.join(map(str, present))).config
            # kubectl takes the first file that names one, the library the last
            config.value["current-context"] = next((name for name in first if name), None)
        return config, state


def _document(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or "clusters" not in document:
        raise SettingsError(f"{path} is no kubeconfig: it has no 'clusters'")
    return document


def _known_context(config: ConfigNode, wanted: str | None, where: str) -> str:
    """The context to use, after making sure that all it names is there."""
    with _mapped(where):
        contexts = {entry["name"]: entry["context"] or {} for entry in _entries(config, "contexts")}
        name = wanted or config.value["current-context"]
        if not name:
            raise SettingsError(f"{where} has no current context: give --context, one of {_names(contexts)}")
        if name not in contexts:
            raise SettingsError(f"{where} has no context {name!r}: there is {_names(contexts)}")
        for kind in ("cluster", "user"):
            _check_named(config, contexts[name].get(kind), kind, f"{where}: context {name!r}")
    return str(name)


def _check_named(config: ConfigNode, name: Any, kind: str, who: str) -> None:
    """Make sure that what a context names is there; a user may be missing or empty: anonymous."""
    if kind == "user" and not name:
        return
    found = next((entry for entry in _entries(config, f"{kind}s") if entry["name"] == name), None)
    if found is None:
        raise SettingsError(f"{who} names the {kind} {name!r}, which is not there")
    if kind not in found or found[kind] is None:
        if kind == "cluster":
            raise SettingsError(f"{who}: the cluster {name!r} is empty")
        found[kind] = {}


def _entries(config: ConfigNode, kind: str) -> list[Any]:
    return [getattr(entry, "value", entry) for entry in config.value[kind]]


def _names(contexts: dict[str, Any]) -> str:
    return ", ".join(sorted(map(str, contexts))) or "none"


def _access(configuration: Configuration, origin: str) -> Access:
    server = configuration.host
    if not _is_url(server):
        raise SettingsError(f"{origin}: the cluster's server must be a URL with https:// or http://")
    proxy = configuration.proxy
    if proxy and not _is_url(proxy):
        raise SettingsError(f"{origin}: proxy-url must be a URL with http:// or https://, no other kind is supported")
    tls = None
    if server.startswith("https://"):
        tls = tls_context(
            ca=configuration.ssl_ca_cert,
            certificate=configuration.cert_file,
            key=configuration.key_file,
            verify=configuration.verify_ssl,
        )
    return Access(
        server=server.rstrip("/"),
        origin=origin,
        tls=tls,
        authorization=configuration.api_key.get("BearerToken"),
        server_name=configuration.tls_server_name,
        proxy=proxy or None,
        certificate_ends=certificate_end(configuration.cert_file),
    )


def _is_url(text: object) -> bool:
    try:
        parts = urlsplit(str(text))
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


@contextmanager
def _mapped(where: str) -> Iterator[None]:
    """Everything that goes wrong in a foreign file, in one line that quotes none of its content."""
    try:
        yield
    except KamajiEventsError:
        raise
    except yaml.MarkedYAMLError as error:
        line = f" near line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SettingsError(f"{where} is no YAML{line}") from None
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror or type(error).__name__}") from error
    except ConfigException as error:
        text = str(error)
        raise SettingsError(f"{where}: {text if text.startswith(_SAFE) else 'an entry lacks something'}") from None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise SettingsError(f"{where} is malformed ({type(error).__name__})") from None
