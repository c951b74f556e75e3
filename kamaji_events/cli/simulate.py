"""``kamaji-events simulate``: a Kubernetes API with a Kamaji fleet in it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

if TYPE_CHECKING:
    from kamaji_events.simulator import Simulator

__all__ = ["app"]

app = new_app("Serve a simulated Kamaji fleet.")


@app.command()
def simulate(
    recordings: Annotated[
        list[Path] | None,
        typer.Option("--recording", metavar="FILE", help="Replay it instead of inventing a fleet. Repeatable."),
    ] = None,
    objects: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Control planes that come and go, 20 by default; copies made of recordings."
        ),
    ] = None,
    existing: Annotated[int, typer.Option(min=0, metavar="N", help="Invented ones that are there at first.")] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="Another one invents another fleet.")] = 0,
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
    and go. With --recording it replays real ones, as many copies at once as --objects says, and then stays.
    It begins when somebody watches, so that nothing is missed.

    \b
    Example:
      kamaji-events simulate --kubeconfig /tmp/simulated --speed 4 &
      kamaji-events publisher run --cluster simulated --kubeconfig /tmp/simulated
    """  # noqa: D301 - \b keeps click from filling the lines
    run(
        _serve(
            recordings=tuple(recordings or ()),
            copies=objects if recordings else None,
            fleet=objects if objects is not None else 20,
            existing=existing,
            seed=seed,
            speed=speed,
            host=host,
            port=port,
            token=token,
            kubeconfig=kubeconfig,
        )
    )


async def _serve(**plan: Any) -> None:
    from kamaji_events.errors import SettingsError
    from kamaji_events.simulator.serve import ServePlan, serve

    try:
        await serve(ServePlan(**plan), on_ready=_say)
    except OSError as error:
        raise SettingsError(f"cannot listen on {plan['host']}:{plan['port']}: {error.strerror}; give --port") from error


def _say(simulator: "Simulator") -> None:
    sys.stderr.write(f"a simulated API server at {simulator.url}; it begins when control planes are watched\n")
    sys.stderr.flush()
