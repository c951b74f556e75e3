"""A recorded upgrade by itself: a control plane that is ready, and every watch line until its new version serves."""

from collections.abc import Iterator

import orjson
from msgspec import Raw

from bench.recorded import RECORDINGS
from kamaji_events.recording import RecordedLine, read_recording

__all__ = ["EVENTS", "upgrades"]

EVENTS = 3
"""upgrade.requested, started, completed."""

_TCPS = "tenantcontrolplanes"


def upgrades() -> Iterator[RecordedLine]:
    """The header, a LIST with the control plane as it was before, and its changes; times begin at 0."""
    lines = list(read_recording(RECORDINGS / "lifecycle.jsonl.gz"))
    yield lines[0]
    states = [
        (line, orjson.loads(bytes(line.object))) for line in lines if line.resource == _TCPS and line.type != "LIST"
    ]
    asked = next(number for number, (_, state) in enumerate(states) if number and _spec(state) != _spec(states[0][1]))
    served = next(
        number for number in range(asked, len(states)) if _version(states[number][1]) == _spec(states[asked][1])
    )
    before = states[asked - 1][1]
    metadata = {"resourceVersion": before["metadata"]["resourceVersion"]}
    listed = {"apiVersion": before["apiVersion"], "kind": "TenantControlPlaneList", "metadata": metadata}
    yield RecordedLine(0.0, _TCPS, "LIST", Raw(orjson.dumps({**listed, "items": [before]})))
    begun = states[asked][0].at
    for line, _ in states[asked : served + 1]:
        yield RecordedLine(round(line.at - begun, 3), line.resource, line.type, line.object)


def _spec(state: dict[str, dict[str, dict[str, str]]]) -> str:
    return state["spec"]["kubernetes"]["version"]


def _version(state: dict[str, dict[str, dict[str, dict[str, str]]]]) -> str | None:
    version = state.get("status", {}).get("kubernetesResources", {}).get("version", {})
    return version.get("version") if version.get("status") == "Ready" else None
