"""One recorded control plane's life under any name, written up to whichever event a test wants."""

import json
from pathlib import Path

import orjson

from tests.apiserver.kube import Kube
from tests.apiserver.operator_actor import OperatorActor, Step, recorded

__all__ = ["RECORDINGS", "Life"]

RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"
"""What the real operator did."""
_NAME = "acme"


class Life:
    """The control plane of the recording ``lifecycle``: created, upgraded, scaled, put to sleep, woken, deleted.

    Args:
        kube: the administrator's client.
        name: the name that it gets; its namespace is ``tenants``.
        owned: also play the objects that it owns.
    """

    def __init__(self, kube: Kube, name: str, *, owned: bool = False) -> None:
        self.subject = f"tenants/{name}"
        self._actor = OperatorActor(kube)
        steps = recorded(RECORDINGS / "lifecycle.jsonl.gz", *(() if owned else ("tenantcontrolplanes",)))
        steps = [step for step in steps if step["resource"] != "datastores"]
        self._steps: list[Step] = orjson.loads(orjson.dumps(steps).replace(_NAME.encode(), name.encode()))
        content = json.loads((RECORDINGS / "lifecycle.expected.json").read_text())
        self._events: list[tuple[str, int | None]] = [tuple(event) for event in content["objects"][f"tenants/{_NAME}"]]

    async def until(self, event: str) -> list[str]:
        """Write everything up to the state that an event is concluded from; gives the events so far.

        A state that gives several events gives them all.
        """
        told = [name for name, _ in self._events]
        version = self._events[told.index(event)][1]
        while self._steps:
            step = self._steps.pop(0)
            await self._actor.play([step])
            if step["resource"] == "tenantcontrolplanes" and _version(step) == version:
                break
        return [name for name, at in self._events if at is not None and version is not None and at <= version]

    @property
    def version(self) -> int:
        """The resourceVersion of the last write."""
        return self._actor.version

    async def finish(self) -> list[str]:
        """Write the rest; gives all events."""
        await self._actor.play(self._steps)
        self._steps = []
        return [name for name, _ in self._events]


def _version(step: Step) -> int:
    return int(step["object"]["metadata"]["resourceVersion"])
