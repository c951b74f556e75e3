"""Which control planes a DataStore serves, as Kamaji keeps it in ``status.usedBy``."""

from kamaji_events.simulator.store import Store

__all__ = ["use"]


def use(store: Store, name: str, subject: str, *, used: bool) -> None:
    """Note in a DataStore that a control plane uses it or does so no longer; nothing when there is no such store.

    Args:
        store: the cluster.
        name: the DataStore.
        subject: ``namespace/name`` of the control plane.
        used: whether it does.
    """
    content = store.get("datastores", None, name)
    if content is None:
        return
    status = content.setdefault("status", {})
    users = set(status.pop("usedBy", ())) - {subject}
    if used:
        users.add(subject)
    if users:
        status["usedBy"] = sorted(users)
    store.update_status("datastores", content)
