"""What is asked of the API server: a verb on a target, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

__all__ = ["KAMAJI_GROUP", "METADATA_ONLY", "Ask", "Target", "Verb"]

KAMAJI_GROUP = "kamaji.clastix.io"
"""API group of Kamaji's kinds."""

JSON = "application/json"
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Accept header of a list that carries metadata only: no content of a Secret or ConfigMap is ever read."""

Verb = Literal["get", "list", "watch"]


@dataclass(frozen=True, slots=True)
class Target:
    """A kind in a group and version, in all namespaces or one."""

    group: str
    """Empty for the core group."""
    version: str
    resource: str
    """Plural, such as ``tenantcontrolplanes``."""
    namespace: str | None = None

    @property
    def path(self) -> str:
        """Path of the collection, from the server's root."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{quote(self.namespace, safe='')}" if self.namespace else ""
        return f"{root}{inside}/{self.resource}"

    def __str__(self) -> str:
        """As a rule would name it: ``tenantcontrolplanes.kamaji.clastix.io``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


@dataclass(frozen=True, slots=True)
class Ask:
    """One read-only request."""

    verb: Verb
    path: str
    target: Target | None = None
    """The kind that is asked for, so that a refusal can name the missing rule; None for discovery."""
    params: Mapping[str, str] = field(default_factory=dict)
    accept: str = JSON

    @classmethod
    def of(cls, verb: Verb, target: Target, *, accept: str = JSON, **params: str) -> "Ask":
        """Ask for a target's collection."""
        return cls(verb, target.path, target, params, accept)

    @property
    def rule(self) -> str:
        """What is asked, in the words of a refusal, with the RBAC rule that would allow it."""
        if self.target is None:
            return f"{self.verb} {self.path}"
        where = f" in namespace {self.target.namespace}" if self.target.namespace else ""
        return (
            f"{self.verb} {self.target}{where} (the missing rule: apiGroups: ['{self.target.group}'], "
            f"resources: ['{self.target.resource}'], verbs: ['{self.verb}'])"
        )
