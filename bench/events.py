"""Events and conclusions to publish, as many as a case needs."""

import time
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice

from msgspec.structs import replace

from bench.recorded import RECORDINGS
from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import Message, encode
from kamaji_events.identity import sequence
from kamaji_events.recording import read_recording
from publisher.derive import Derivation
from publisher.lifecycle.decision import Decision
from publisher.lifecycle.policy import Policy

__all__ = ["decisions", "messages"]


@cache
def _concluded(recording: str) -> tuple[Decision, ...]:
    derivation = Derivation(Policy())
    found: list[Decision] = []
    for line in read_recording(RECORDINGS / f"{recording}.jsonl.gz"):
        found += derivation.take(line)
    return tuple(found + derivation.end())


def decisions(count: int, recording: str = "fleet") -> list[Decision]:
    """What was concluded from a recording, over and over, each with an id of its own."""
    many = islice(cycle(_concluded(recording)), count)
    return [replace(decision, id=f"{decision.id}.{number}") for number, decision in enumerate(many)]


def messages(cluster: str, count: int) -> Iterator[Message]:
    """Events of 1.2 KB of one cluster, each with the time at which it was made as ``data.sent``."""
    event = lookup(Kind.TENANTCONTROLPLANE, "upgrade.completed")
    padding = "x" * 480
    for number in range(count):
        now = time.time()
        uid = f"00000000-0000-4000-8000-{number:012d}"
        yield encode(
            event,
            cluster=cluster,
            namespace="tenants",
            name=f"tcp-{number:06d}",
            uid=uid,
            id=f"{uid}.upgrade.2.completed",
            seconds=now,
            sequence=sequence(1, 7),
            term=1,
            operationid=f"{uid}.upgrade.2",
            data={"object": {"name": f"tcp-{number:06d}", "labels": {"tier": "gold"}}, "sent": now, "note": padding},
        )
