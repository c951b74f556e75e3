"""Is this still the cluster that the memory is of?

A remembered resourceVersion means nothing to another cluster: its watch would answer 200 and stay silent, or every
object would seem to be deleted. So the uid of the namespace ``kube-system``, which nobody can change, is remembered
where the publisher may read it.
"""

from collections.abc import Mapping
from typing import Final

from kamaji_events.errors import ClusterError, ClusterRefused
from publisher.watch.discovery import cluster_uid
from publisher.watch.source import Source

__all__ = ["CLUSTER", "check_same_cluster"]

CLUSTER: Final = "cluster"
"""The fact under which the uid is remembered."""


async def check_same_cluster(source: Source, facts: Mapping[str, str]) -> Mapping[str, str]:
    """Compare, and give back what should be remembered of it.

    Args:
        source: the API server.
        facts: what is remembered, see ``publisher.memory.Delta.facts``.

    Raises:
        ClusterRefused: the API server is another cluster's.
    """
    remembered = facts.get(CLUSTER)
    try:
        uid = await cluster_uid(source)
    except ClusterError:
        uid = None
    if uid and remembered and uid != remembered:
        raise ClusterRefused(
            f"the API server {source.server} is of another cluster (kube-system {uid}) than the memory "
            f"(kube-system {remembered}): mend the kubeconfig, give this cluster another --cluster name, or "
            "'kamaji-events journal reset' to begin anew"
        )
    known = uid or remembered
    return {CLUSTER: known} if known else {}
