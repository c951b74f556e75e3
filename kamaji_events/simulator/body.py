"""What the objects of an invented fleet look like when they are made, after those of the real operator."""

from collections.abc import Mapping

from kamaji_events.simulator.version import Object

__all__ = [
    "CERTIFICATES",
    "FINALIZER",
    "KUBECONFIGS",
    "SECRET_FINALIZER",
    "SOOT",
    "control_plane",
    "datastore",
    "owned",
]

FINALIZER = "finalizer.kamaji.clastix.io"
"""Kamaji's own: the datastore's data are to be removed first."""
SOOT = "finalizer.kamaji.clastix.io/soot"
"""Comes and goes in normal life."""
SECRET_FINALIZER = "finalizer.kamaji.clastix.io/datastore-secret"  # noqa: S105 - a finalizer's name
"""Of the Secret with the datastore's credentials."""

CERTIFICATES = {
    "ca": "ca",
    "frontProxyCA": "front-proxy-ca-certificate",
    "sa": "sa-certificate",
    "apiServer": "api-server-certificate",
    "apiServerKubeletClient": "api-server-kubelet-client-certificate",
    "frontProxyClient": "front-proxy-client-certificate",
}
"""Field of status.certificates, and the component whose Secret it names; in the operator's order."""
KUBECONFIGS = {
    "admin": "admin-kubeconfig",
    "controllerManager": "controller-manager-kubeconfig",
    "scheduler": "scheduler-kubeconfig",
}
"""The same for status.kubeconfig."""


def control_plane(
    namespace: str, name: str, *, version: str, replicas: int, store: str, labels: Mapping[str, str]
) -> Object:
    """A TenantControlPlane as it is created."""
    deployment = {
        "replicas": replicas,
        "serviceAccountName": "default",
        "strategy": {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}, "type": "RollingUpdate"},
    }
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "addons": {"coreDNS": {}, "kubeProxy": {}},
            "controlPlane": {"deployment": deployment, "service": {"serviceType": "LoadBalancer"}},
            "dataStore": store,
            "kubernetes": {"kubelet": {"cgroupfs": "systemd"}, "version": version},
            "networkProfile": {
                "clusterDomain": "cluster.local",
                "dnsServiceIPs": ["10.96.0.10"],
                "podCidr": "10.244.0.0/16",
                "port": 6443,
                "serviceCidr": "10.96.0.0/16",
            },
        },
    }


def datastore(name: str) -> Object:
    """A DataStore as it is created."""
    return {
        "metadata": {"name": name, "finalizers": ["kamaji.clastix.io/TenantControlPlane"]},
        "spec": {"driver": "etcd", "endpoints": [f"{name}.kamaji-system.svc:2379"]},
    }


def owned(owner: Object, component: str, *, suffix: str = "", finalizers: tuple[str, ...] = ()) -> Object:
    """An object that a control plane owns.

    Args:
        owner: the control plane.
        component: as its label names it.
        suffix: what its name adds to the owner's.
        finalizers: its finalizers.
    """
    metadata = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    made = {
        "name": metadata["name"] + suffix,
        "namespace": metadata["namespace"],
        "labels": {
            "kamaji.clastix.io/component": component,
            "kamaji.clastix.io/name": metadata["name"],
            "kamaji.clastix.io/project": "kamaji",
        },
        "ownerReferences": [reference],
    }
    return {"metadata": made | ({"finalizers": list(finalizers)} if finalizers else {})}
