"""The alarm about a silent publisher, told once by all workers together: an event for whoever subscribes to it.

Every worker hears every publisher, so all notice the silence. Whose record comes first on the board tells.
"""

from consumers import record as r
from consumers.state import cluster_name
from consumers.wires import Wires

__all__ = ["Alarm"]


class Alarm:
    """Tells ``subscription.heartbeat.missed`` and ``.resumed`` of a cluster.

    Args:
        wires: the session.
    """

    def __init__(self, wires: Wires) -> None:
        self._wires = wires

    async def silent(self, cluster: str, seconds: float) -> None:
        """Its publisher has been silent for so long."""
        record = r.Silent(subscription=cluster_name(cluster), at=self._wires.clock(), by=self._wires.worker)
        before, _ = await self._wires.board.append(record)
        if not before.silent:
            reason = ("PublisherSilent", f"Not heard for {seconds:.0f} s: nobody may be watching {cluster}.")
            await self._say("heartbeat.missed", cluster, reason, silentSeconds=round(seconds, 1))

    async def heard(self, cluster: str) -> None:
        """Its publisher is heard; told only when it was silent."""
        if not self._wires.board.get(cluster_name(cluster)).silent:
            return
        record = r.Heard(subscription=cluster_name(cluster), at=self._wires.clock(), by=self._wires.worker)
        before, _ = await self._wires.board.append(record)
        if before.silent:
            await self._say("heartbeat.resumed", cluster, ("PublisherHeard", f"{cluster} is watched again."))

    async def _say(self, name: str, cluster: str, reason: tuple[str, str], **details: float) -> None:
        wires = self._wires
        message = wires.events.message(name, wires.clock(), reason=reason, cluster=cluster, **details)
        await wires.publisher.publish(message, exchange=wires.house.layout.events)
