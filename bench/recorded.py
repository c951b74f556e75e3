"""Watch lines as the API server sent them, out of the recordings."""

import gzip
from pathlib import Path

import orjson

__all__ = ["RECORDINGS", "tcp_lines"]

RECORDINGS = Path(__file__).parent.parent / "tests" / "data" / "recordings"


def tcp_lines(name: str = "fleet") -> list[bytes]:
    """Every watch line of TenantControlPlanes in a recording."""
    lines: list[bytes] = []
    with gzip.open(RECORDINGS / f"{name}.jsonl.gz") as recorded:
        for raw in recorded:
            line = orjson.loads(raw)
            if line["resource"] == "tenantcontrolplanes" and line["type"] in ("ADDED", "MODIFIED", "DELETED"):
                lines.append(orjson.dumps({"type": line["type"], "object": line["object"]}))
    return lines
