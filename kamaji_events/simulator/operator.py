"""The operator: it brings a control plane's status to where its spec wants it, write by write.

The order of writes is the real operator's: each handler writes the status by itself, the observed generation comes
last, a plain rollout reads ``Unknown``.
"""

from kamaji_events.simulator.body import CERTIFICATES, FINALIZER, KUBECONFIGS, SECRET_FINALIZER, SOOT, owned
from kamaji_events.simulator.hands import Hands, Steps
from kamaji_events.simulator.usage import use
from kamaji_events.simulator.version import Object

__all__ = ["PAUSED", "Operator"]

_COUNTED = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "unavailableReplicas")
_HOME = "kamaji-system"
PAUSED = "kamaji.clastix.io/paused"
"""Annotation: the operator leaves the object alone."""


class Operator(Hands):
    """Looks after one control plane.

    Everything is a generator that writes to the store and yields how many seconds pass before its next write. So a
    scheduler decides about time, and whoever stops asking interrupts the operator in the middle of its work; the next
    ``reconcile`` goes on from what is there, as the real one does.
    """

    def reconcile(self, *, restart: bool = False) -> Steps:
        """Bring the status to where the spec wants it.

        Args:
            restart: roll out although nothing in the spec asks for it.
        """
        content = self.content
        if PAUSED in content["metadata"].get("annotations", {}) or "deletionTimestamp" in content["metadata"]:
            return
        target = content["spec"]["dataStore"]
        if content["status"]["storage"]["dataStoreName"] != target:
            yield from self._migrate(target)
        else:
            self._end_job()
        if self._upgrading() and self._wanted():
            self._word("Upgrading")
            yield self._soon()
            yield from self._checksum("configmaps", "kubeadmconfig", ("kubeadmconfig",))
        renewed = self._touch_deployment(restart=restart)
        if renewed or not self._rolled_out():
            yield from self._roll_out(surge=renewed)
        else:
            self._word(self._settled())
            yield self._soon()
            self._observe()

    def _build(self) -> Steps:
        """Everything that a new control plane needs before its Deployment, in the handlers' order."""
        self._store.create("services", owned(self.content, "service"), manager="kamaji")
        self._status(self._first_status)
        yield self._soon()
        yield from self._make("configmaps", "kubeadmconfig", ("kubeadmconfig",), name="configmapName")
        for field, component in CERTIFICATES.items():
            yield from self._make("secrets", component, ("certificates", field))
        for field, component in KUBECONFIGS.items():
            yield from self._make("secrets", component, ("kubeconfig", field))
            if field == "admin":  # admin.conf first, then super-admin.conf
                yield from self._checksum("secrets", component, ("kubeconfig", field))
        yield from self._make("secrets", "datastore-config", ("storage", "config"), finalizers=(SECRET_FINALIZER,))
        store = self.content["spec"]["dataStore"]
        self._status(lambda status: status["storage"].update(dataStoreName=store, driver="etcd"))
        use(self._store, store, self.subject, used=True)
        yield self._soon()
        self._finalizers(lambda names: [*names, FINALIZER])
        yield self._soon()
        uid = self.content["metadata"]["uid"]
        self._status(
            lambda status: status["storage"].update(setup={"checksum": self._hash(), "schema": uid, "user": uid})
        )
        yield self._soon()
        yield from self._make("secrets", "datastore-certificate", ("storage", "certificate"))
        self._store.create("deployments", owned(self.content, "deployment"), manager="kamaji")
        self._status(self._first_deployment)
        yield self._soon()

    def _first_status(self, status: Object) -> None:
        disabled = {"enabled": False}
        status["addons"] = {"coreDNS": dict(disabled), "konnectivity": dict(disabled), "kubeProxy": dict(disabled)}
        status["controlPlaneEndpoint"] = f"10.{self._rng.randrange(90, 110)}.{self._rng.randrange(256)}.10:6443"
        service = {"name": self.name, "namespace": self.namespace, "port": 6443}
        status["kubernetesResources"] = {"service": service, "version": {"status": "Provisioning"}}

    def _first_deployment(self, status: Object) -> None:
        selector = f"kamaji.clastix.io/name={self.name}"
        status["kubernetesResources"]["deployment"] = {
            "name": self.name,
            "namespace": self.namespace,
            "selector": selector,
            "observedGeneration": 1,
        }
        status["kubernetesResources"]["version"]["status"] = "NotReady"

    def _roll_out(self, *, surge: bool) -> Steps:
        """New pods come, old ones go; the first ready pod and the last one are both told.

        Args:
            surge: every pod is replaced, not only added or removed.
        """
        wanted, ready = self._wanted(), self._pods().get("readyReplicas", 0)
        if wanted == 0:
            yield from self._fall_asleep()
            return
        self._word(self._busy(ready))
        yield self._soon()
        self._observe()
        yield self._soon()
        there = ready + wanted if surge and ready else wanted
        missing = there - min(ready, there)
        alive = min(ready, there) or None
        self._replicas(
            replicas=there,
            readyReplicas=alive,
            availableReplicas=alive,
            updatedReplicas=wanted,
            unavailableReplicas=missing or None,
        )
        yield self._between(2.0, 6.0)
        if missing and wanted > 1:
            some = max(min(ready, wanted), 1)
            self._replicas(readyReplicas=some, availableReplicas=some, unavailableReplicas=max(there - some - 1, 1))
            if ready == 0:
                self._word("Provisioning" if self._running() is None else self._busy(some))
            yield self._between(0.3, 3.0)
        yield from self._become_ready(wanted)

    def _become_ready(self, wanted: int) -> Steps:
        self._replicas(
            replicas=wanted,
            readyReplicas=wanted,
            availableReplicas=wanted,
            updatedReplicas=wanted,
            unavailableReplicas=None,
        )
        word = self._settled()
        self._word(word, version=self._target() if word == "Ready" else None)
        yield self._soon()
        if SOOT not in self.content["metadata"].get("finalizers", ()):
            self._finalizers(lambda names: [*names, SOOT])
            yield self._soon()

    def _fall_asleep(self) -> Steps:
        self._word("Sleeping", version=self._target())
        yield self._soon()
        self._observe()
        yield self._soon()
        self._finalizers(lambda names: [name for name in names if name != SOOT])
        yield self._soon()
        gone = dict.fromkeys(
            ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "unavailableReplicas")
        )
        self._replicas(**gone)
        yield self._soon()

    def _migrate(self, target: str) -> Steps:
        self._word("Migrating")
        labels = {"tcp.kamaji.clastix.io/name": self.name, "tcp.kamaji.clastix.io/namespace": self.namespace}
        metadata = {"name": self._job, "namespace": _HOME, "labels": labels}
        if self._store.version_of("jobs", _HOME, self._job) is None:
            self._store.create("jobs", {"metadata": metadata}, manager="kamaji")
        yield self._between(3.0, 6.0)
        self._end_job()
        yield from self._checksum("configmaps", "kubeadmconfig", ("kubeadmconfig",))
        former = self.content["status"]["storage"]["dataStoreName"]
        self._status(lambda status: status["storage"].update(dataStoreName=target))
        yield self._soon()
        use(self._store, former, self.subject, used=False)
        yield self._soon()
        use(self._store, target, self.subject, used=True)
        yield self._soon()

    @property
    def _job(self) -> str:
        return f"migrate-{self.namespace}-{self.name}"

    def _end_job(self) -> None:
        if self._store.version_of("jobs", _HOME, self._job):
            self._store.delete("jobs", _HOME, self._job)

    def _bootstrap(self) -> Steps:
        """The tenant's own API has what it needs; add-ons follow."""
        yield self._between(0.5, 2.0)
        self._status(lambda status: status.update(kubeadmPhase={"bootstrapToken": {"checksum": self._hash()}}))
        yield self._soon()
        for addon in ("coreDNS", "kubeProxy"):
            self._enable(addon)
            yield self._soon()

    def _enable(self, addon: str) -> None:
        self._status(lambda status: status["addons"][addon].update(enabled=True))

    def _settled(self) -> str:
        if self._wanted() == 0:
            return "Sleeping"
        return "WriteLimited" if self._limited() else "Ready"

    def _busy(self, ready: int) -> str:
        if ready == 0:
            return "NotReady"
        return "Upgrading" if self._upgrading() else "Unknown"

    def _rolled_out(self) -> bool:
        pods, wanted = self._pods(), self._wanted()
        return bool(pods.get("replicas", 0) == pods.get("readyReplicas", 0) == wanted)

    def _touch_deployment(self, *, restart: bool) -> bool:
        """Write the Deployment; True when its pods are replaced by that."""
        found = self._store.get("deployments", self.namespace, self.name)
        if found is None:
            return False
        before = found.get("spec", {})
        template = {"version": self._target(), "dataStore": self.content["spec"]["dataStore"]}
        template["hash"] = self._hash() if restart else before.get("template", {}).get("hash", "")
        found["spec"] = {"replicas": self._wanted(), "template": template}
        if found["spec"] == before:
            return False
        generation = self._store.update("deployments", found, manager="kamaji")["metadata"]["generation"]
        self._replicas(observedGeneration=generation)
        return bool(template != before.get("template"))

    def _stores(self, content: Object) -> list[str]:
        names = (content["spec"]["dataStore"], content.get("status", {}).get("storage", {}).get("dataStoreName"))
        return list(dict.fromkeys(name for name in names if name))
