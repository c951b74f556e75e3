"""The simulator as a service: what to serve as a plan, and serving it until it is cancelled."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from kamaji_events.errors import RecordingError
from kamaji_events.recording import read_recording
from kamaji_events.simulator.filling import fill
from kamaji_events.simulator.invented import InventedFleet
from kamaji_events.simulator.multiply import multiply
from kamaji_events.simulator.replay import Replay
from kamaji_events.simulator.server import Simulator
from kamaji_events.simulator.store import Store

__all__ = ["ServePlan", "serve"]

_FOR_EVER = 1_000_000_000


class ServePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulator serves: recordings if there are any, else what is filled in, else an invented fleet."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 for any free one."""
    token: str | None = None
    """Bearer token that it asks for."""
    kubeconfig: Path | None = None
    """Where to write a kubeconfig."""
    recordings: tuple[Path, ...] = ()
    """Recordings to replay."""
    copies: int | None = None
    """Control planes to multiply the recordings to; None replays the only one as it is."""
    speed: float | None = 1.0
    """How many times faster than recorded, or than life; None for as fast as possible."""
    filled: int = 0
    """Control planes that are ready and stay as they are, for measurements."""
    fleet: int = 20
    """Invented control planes that come, change and go, for ever."""
    existing: int = 5
    """Invented ones that are there from the start."""
    seed: int = 0
    window: int = 20_000
    """Changes of each kind that are remembered."""
    bookmark_seconds: float = 60.0
    wait_for_watch: bool = True
    """Begin when somebody watches control planes, so that nothing is missed."""

    def encode(self) -> str:
        """As JSON, for another process."""
        return msgspec.json.encode(self, enc_hook=str).decode()

    @classmethod
    def decode(cls, text: str) -> "ServePlan":
        """Read what ``encode`` wrote; what is left out has its default.

        Raises:
            msgspec.DecodeError: it is no plan.
        """
        return msgspec.json.decode(text, type=cls, dec_hook=lambda kind, value: kind(value))


async def serve(plan: ServePlan, *, on_ready: Callable[[Simulator], None] | None = None) -> None:
    """Serve until cancelled; a replay that is over leaves its last state served.

    Args:
        plan: what to serve.
        on_ready: told once it listens.

    Raises:
        RecordingError: a recording cannot be used.
        OSError: the port cannot be had.
    """
    store = Store(seed=plan.seed, window=plan.window)
    play = _playing(plan, store)
    simulator = Simulator(
        store, host=plan.host, port=plan.port, token=plan.token, bookmark_seconds=plan.bookmark_seconds
    )
    async with simulator:
        if plan.kubeconfig is not None:
            simulator.kubeconfig(plan.kubeconfig)
        if on_ready is not None:
            on_ready(simulator)
        if plan.wait_for_watch:
            await simulator.watched("tenantcontrolplanes")
        await play()
        await asyncio.Event().wait()


def _playing(plan: ServePlan, store: Store) -> Callable[[], Awaitable[None]]:
    if plan.recordings:
        replay = _replay(plan, store)
        return lambda: replay.run(plan.speed)
    if plan.filled:
        fill(store, plan.filled, seed=plan.seed)
        return _nothing
    fleet = InventedFleet(store, seed=plan.seed)
    fleet.add_existing(plan.existing)
    fleet.add(plan.fleet, lives=_FOR_EVER)
    return lambda: fleet.run(plan.speed)


async def _nothing() -> None:
    """What is filled in stays as it is."""


def _replay(plan: ServePlan, store: Store) -> Replay:
    recordings = [list(read_recording(path)) for path in plan.recordings]
    if plan.copies is None:
        if len(recordings) > 1:
            raise RecordingError("several recordings have resourceVersions of their own: say how many copies to make")
        return Replay.of(store, recordings[0])
    return Replay.lazily(store, multiply(recordings, plan.copies, plan.seed))
