"""The kinds that the simulator serves: Kamaji's own, what Kamaji's objects own, and namespaces."""

from dataclasses import dataclass

__all__ = ["KAMAJI", "KINDS", "Kind", "kind_of"]

KAMAJI = "kamaji.clastix.io"
"""API group of Kamaji's kinds."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind in the version that is served."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    name: str
    """As ``kind`` spells it."""
    namespaced: bool = True
    custom: bool = False
    """Defined by a CustomResourceDefinition: it can be missing, and its fields come in alphabetical order."""
    status: bool = True
    """Has a status subresource: a write of the whole leaves the status alone, and the other way round."""
    generations: bool = True
    """Counts changes of spec in ``metadata.generation``."""

    @property
    def api_version(self) -> str:
        """As ``apiVersion`` spells it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As error messages and rules name it: ``tenantcontrolplanes.kamaji.clastix.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def key(self, namespace: str | None, name: str) -> str:
        """Where an object stands in a list: keys sort as etcd's do."""
        return f"/{namespace}/{name}" if self.namespaced else f"/{name}"


KINDS: tuple[Kind, ...] = (
    Kind(KAMAJI, "v1alpha1", "tenantcontrolplanes", "TenantControlPlane", custom=True),
    Kind(KAMAJI, "v1alpha1", "datastores", "DataStore", namespaced=False, custom=True),
    Kind("", "v1", "namespaces", "Namespace", namespaced=False, generations=False),
    Kind("", "v1", "services", "Service", generations=False),
    Kind("", "v1", "secrets", "Secret", status=False, generations=False),
    Kind("", "v1", "configmaps", "ConfigMap", status=False, generations=False),
    Kind("apps", "v1", "deployments", "Deployment"),
    Kind("batch", "v1", "jobs", "Job"),
    Kind("networking.k8s.io", "v1", "ingresses", "Ingress"),
    Kind("gateway.networking.k8s.io", "v1", "tlsroutes", "TLSRoute", custom=True),
    Kind("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", custom=True),
    Kind("gateway.networking.k8s.io", "v1", "grpcroutes", "GRPCRoute", custom=True),
)
"""Everything that is served, each plural once."""

_BY_PLURAL = {kind.plural: kind for kind in KINDS}


def kind_of(plural: str) -> Kind:
    """The kind of a plural.

    Raises:
        KeyError: it is not served.
    """
    return _BY_PLURAL[plural]
