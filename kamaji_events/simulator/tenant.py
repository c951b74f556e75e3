"""One invented control plane: what its owner wants of it, and what befalls it."""

from collections.abc import Callable, Mapping

from kamaji_events.simulator.body import CERTIFICATES, KUBECONFIGS, SOOT, control_plane
from kamaji_events.simulator.hands import TCPS, Steps
from kamaji_events.simulator.operator import Operator
from kamaji_events.simulator.usage import use
from kamaji_events.simulator.version import Object

__all__ = ["Tenant"]

_OWNED = ("configmaps", "secrets", "deployments", "services")
_USER = "kubectl-edit"
_NAME = "kamaji.clastix.io/name"


class Tenant(Operator):
    """One control plane and the people and accidents around it."""

    def create(self, *, version: str, replicas: int, store: str, labels: Mapping[str, str]) -> Steps:
        """Create it, and let the operator bring it up."""
        body = control_plane(self.namespace, self.name, version=version, replicas=replicas, store=store, labels=labels)
        self._store.create(TCPS, body, manager="kubectl-create")
        yield self._soon()
        yield from self._build()
        yield from self.reconcile()
        yield from self._bootstrap()

    def edit(self, change: Callable[[Object], None]) -> Steps:
        """Change the object as its owner does, and let the operator follow."""
        content = self.content
        change(content)
        self._store.update(TCPS, content, manager=_USER)
        yield self._soon()
        yield from self.reconcile()

    def delete(self) -> Steps:
        """Delete it, and let operator and garbage collector clean up."""
        content = self.content
        self._store.delete(TCPS, self.namespace, self.name)
        yield self._soon()
        if self.exists and SOOT in content["metadata"].get("finalizers", ()):
            self._finalizers(lambda names: [name for name in names if name != SOOT])
            yield self._between(0.05, 0.5)
        if self.exists:
            self._finalizers(lambda _: [])
            yield self._soon()
        self._end_job()
        for name in self._stores(content):
            use(self._store, name, self.subject, used=False)
            yield self._soon()
        yield from self._collect()

    def _collect(self) -> Steps:
        """What it left goes, the datastore's Secret freed first."""
        for resource in _OWNED:
            for version in list(self._store.state(resource).values()):
                if version.meta.namespace != self.namespace or version.labels.get(_NAME) != self.name:
                    continue
                if version.meta.finalizers:
                    content = version.content()
                    del content["metadata"]["finalizers"]
                    self._store.update(resource, content, manager="kamaji")
                    yield self._soon()
                self._store.delete(resource, version.meta.namespace, version.meta.name)
                yield self._between(0.001, 0.01)

    def lose_pods(self, count: int) -> Steps:
        """Pods fail for a while: all of them, or some."""
        wanted = self._wanted()
        left = max(0, wanted - count)
        self._replicas(readyReplicas=left or None, availableReplicas=left or None, unavailableReplicas=wanted - left)
        self._word("NotReady" if left == 0 else "Unknown")
        yield self._between(2.0, 8.0)
        yield from self._become_ready(wanted)

    def rotate_ca(self) -> Steps:
        """The CA is replaced, and everything that it signed after it."""
        yield from self._checksum("secrets", "ca", ("certificates", "ca"), word="CertificateAuthorityRotating")
        for field in ("apiServer", "apiServerKubeletClient"):
            yield from self._checksum("secrets", CERTIFICATES[field], ("certificates", field))
        for field, component in KUBECONFIGS.items():
            yield from self._checksum("secrets", component, ("kubeconfig", field))
        yield from self.reconcile(restart=True)

    def rotate_certificate(self, field: str) -> Steps:
        """One certificate of status.certificates is renewed."""
        yield from self._checksum("secrets", CERTIFICATES[field], ("certificates", field))

    def rotate_kubeconfig(self) -> Steps:
        """The admin kubeconfig is made again."""
        yield from self._checksum("secrets", KUBECONFIGS["admin"], ("kubeconfig", "admin"))
