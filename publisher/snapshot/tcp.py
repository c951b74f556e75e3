"""A TenantControlPlane as the API gives it, typed where something is concluded from it.

Absent, null and (in the tolerant reading) what has the wrong type are all None: they say nothing.
"""

from msgspec import Raw, Struct

from publisher.snapshot.meta import Condition, Meta

__all__ = ["TcpSnapshot", "TcpSpec", "TcpStatus"]


class Checksum(Struct, frozen=True, gc=False):
    """A certificate, kubeconfig, config map or bootstrap phase in status."""

    checksum: str | None = None
    secretName: str | None = None  # noqa: N815 - the API's spelling, as everywhere here


class Certificates(Struct, frozen=True, gc=False):
    """``status.certificates``."""

    ca: Checksum | None = None
    frontProxyCA: Checksum | None = None  # noqa: N815
    sa: Checksum | None = None
    apiServer: Checksum | None = None  # noqa: N815
    apiServerKubeletClient: Checksum | None = None  # noqa: N815
    frontProxyClient: Checksum | None = None  # noqa: N815
    etcd: dict[str, Checksum | None] | None = None


class Kubeconfigs(Struct, frozen=True, gc=False):
    """``status.kubeconfig``."""

    admin: Checksum | None = None
    controllerManager: Checksum | None = None  # noqa: N815
    scheduler: Checksum | None = None


class KubeadmPhase(Struct, frozen=True, gc=False):
    """``status.kubeadmPhase``."""

    bootstrapToken: Checksum | None = None  # noqa: N815


class Storage(Struct, frozen=True, gc=False):
    """``status.storage``."""

    dataStoreName: str | None = None  # noqa: N815
    certificate: Checksum | None = None
    config: Checksum | None = None
    setup: Checksum | None = None


class Addon(Struct, frozen=True, gc=False):
    """One of ``status.addons``."""

    enabled: bool | None = None
    certificate: Checksum | None = None


class Addons(Struct, frozen=True, gc=False):
    """``status.addons``."""

    coreDNS: Addon | None = None  # noqa: N815
    kubeProxy: Addon | None = None  # noqa: N815
    konnectivity: Addon | None = None


class Version(Struct, frozen=True, gc=False):
    """``status.kubernetesResources.version``."""

    status: str | None = None
    version: str | None = None


class Deployment(Struct, frozen=True, gc=False):
    """``status.kubernetesResources.deployment``."""

    replicas: int | None = None
    readyReplicas: int | None = None  # noqa: N815
    updatedReplicas: int | None = None  # noqa: N815
    observedGeneration: int | None = None  # noqa: N815
    conditions: list[Condition] | None = None


class AccessPoint(Struct, frozen=True, gc=False):
    """An access point of a Gateway."""

    value: str | None = None
    port: int | None = None
    urls: list[str] | None = None


class Gateway(Struct, frozen=True, gc=False):
    """``status.kubernetesResources.gateway``."""

    accessPoints: list[AccessPoint] | None = None  # noqa: N815


class Resources(Struct, frozen=True, gc=False):
    """``status.kubernetesResources``."""

    version: Version | None = None
    deployment: Deployment | None = None
    gateway: Gateway | None = None


class TcpStatus(Struct, frozen=True, gc=False):
    """``status``."""

    addons: Addons | None = None
    certificates: Certificates | None = None
    controlPlaneEndpoint: str | None = None  # noqa: N815
    kubeadmPhase: KubeadmPhase | None = None  # noqa: N815
    kubeadmconfig: Checksum | None = None
    kubeconfig: Kubeconfigs | None = None
    kubernetesResources: Resources | None = None  # noqa: N815
    observedGeneration: int | None = None  # noqa: N815
    storage: Storage | None = None


class TcpSnapshot(Struct, frozen=True, gc=False):
    """One TenantControlPlane at one resourceVersion; its metadata has a uid and a name."""

    apiVersion: str | None = None  # noqa: N815
    kind: str | None = None
    metadata: Meta | None = None
    spec: Raw = Raw(b"null")
    """Read only when its bytes moved, see ``publisher.snapshot.spec``."""
    status: TcpStatus | None = None


class WantedKubernetes(Struct, frozen=True, gc=False):
    """``spec.kubernetes``."""

    version: str | None = None


class WantedDeployment(Struct, frozen=True, gc=False):
    """``spec.controlPlane.deployment``."""

    replicas: int | None = None


class WantedControlPlane(Struct, frozen=True, gc=False):
    """``spec.controlPlane``."""

    deployment: WantedDeployment | None = None


class WritePermissions(Struct, frozen=True, gc=False):
    """``spec.writePermissions``."""

    blockCreation: bool | None = None  # noqa: N815
    blockUpdate: bool | None = None  # noqa: N815
    blockDeletion: bool | None = None  # noqa: N815


class TcpSpec(Struct, frozen=True, gc=False):
    """``spec``, as far as an event of its own tells of it."""

    kubernetes: WantedKubernetes | None = None
    dataStore: str | None = None  # noqa: N815
    controlPlane: WantedControlPlane | None = None  # noqa: N815
    writePermissions: WritePermissions | None = None  # noqa: N815
