"""``kamaji-events simulate``: a Kubernetes API with a Kamaji fleet in it."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from kamaji_events.simulator import Store

__all__ = ["app"]

_FOR_EVER = 1_000_000
"""Lives of each control plane: centuries."""

app = new_app("Serve a simulated Kamaji fleet.")


@app.command()
def simulate(
    recordings: Annotated[
        list[Path] | None,
        typer.Option("--recording", metavar="FILE", help="Replay it instead of inventing a fleet. Repeatable."),
    ] = None,
    objects: Annotated[int, typer.Option(min=1, metavar="N", help="Tenant control planes.")] = 10,
    speed: Annotated[float, typer.Option(min=0.01, metavar="TIMES", help="Faster than in real life.")] = 1.0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", envvar="KAMAJI_EVENTS_SIMULATOR_HOST", help="Where to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", envvar="KAMAJI_EVENTS_SIMULATOR_PORT", min=0, max=65535, help="0 takes any.")
    ] = 8001,
    token: Annotated[str | None, typer.Option(metavar="TEXT", help="Ask for this bearer token.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a kubeconfig of it, to use with 'publisher run'.")
    ] = None,
) -> None:
    """Serve a simulated Kamaji fleet as a Kubernetes API, to try the publisher without a cluster.

    By default it invents a fleet that lives for ever: control planes come, are upgraded, scaled, put to sleep, fail,
    and go. With --recording it replays real ones, as many at once as --objects says, and then stays.

    \b
    Example:
      kamaji-events simulate --kubeconfig /tmp/simulated --speed 4 &
      kamaji-events publisher run --cluster simulated --kubeconfig /tmp/simulated
    """  # noqa: D301 - \b keeps click from filling the lines
    run(_simulate(recordings or [], objects, speed, host, port, token, kubeconfig))


async def _simulate(
    recordings: list[Path], objects: int, speed: float, host: str, port: int, token: str | None, kubeconfig: Path | None
) -> None:
    from kamaji_events.errors import SettingsError
    from kamaji_events.simulator import Simulator, Store

    store = Store()
    happening = _replayed(store, recordings, objects, speed) if recordings else _invented(store, objects, speed)
    simulator = Simulator(store, host=host, port=port, token=token)
    try:
        await simulator.come_up()
    except OSError as error:
        happening.close()
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}; give --port") from error
    try:
        if kubeconfig is not None:
            simulator.kubeconfig(kubeconfig)
        sys.stderr.write(f"a simulated API server at {simulator.url}; Ctrl-C ends\n")
        sys.stderr.flush()
        await happening
        await asyncio.Event().wait()
    finally:
        await simulator.go_down()


def _replayed(store: "Store", recordings: list[Path], objects: int, speed: float) -> "Coroutine[Any, Any, None]":
    """Recordings multiplied to so many objects.

    Raises:
        RecordingError: one cannot be read.
    """
    from kamaji_events.simulator import Replay, multiply, read_recording

    lines = multiply([read_recording(path) for path in recordings], objects)
    return Replay.lazily(store, lines).run(speed)


def _invented(store: "Store", objects: int, speed: float) -> "Coroutine[Any, Any, None]":
    """A fleet that never ends."""
    from kamaji_events.simulator import InventedFleet

    fleet = InventedFleet(store)
    fleet.add(objects, lives=_FOR_EVER)
    return fleet.run(speed)
