"""Hot functions, so many times, for counting instructions: ``python -m bench.children.hot NAME COUNT``."""

import sys
from collections.abc import Callable

from bench.events import decisions
from bench.recorded import tcp_lines
from kamaji_events.broker.wire import Outgoing, frames
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.policy import Policy
from publisher.observation import Changed, Resource, SyncEnded, SyncStarted
from publisher.render import render
from publisher.snapshot import TCP_DECODER

__all__: list[str] = []

_TCPS = Resource.TENANTCONTROLPLANES
_FEW = 50


def _watched() -> Callable[[int], None]:
    lines, fleet = tcp_lines("lifecycle"), Fleet(Policy())
    fleet.observe(SyncStarted(_TCPS), 0.0)
    fleet.observe(SyncEnded(_TCPS, "1"), 0.0)

    def once(number: int) -> None:
        fleet.observe(Changed(_TCPS, TCP_DECODER.line(lines[number % len(lines)])), 0.0)

    return once


def _published() -> Callable[[int], None]:
    concluded = decisions(_FEW, "lifecycle")

    def once(number: int) -> None:
        outgoing = Outgoing.of(render(concluded[number % _FEW], cluster="bench", term=1))
        frames(1, "kamaji.events", outgoing, mandatory=False, body_max=131_064)

    return once


def _main(name: str, count: int) -> None:
    once = {"watch line": _watched, "event to frames": _published}[name]()
    for number in range(count):
        once(number)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
