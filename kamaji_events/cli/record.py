"""``kamaji-events record``: a cluster's watch as a file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kamaji_events.cli.lazy import new_app
from kamaji_events.cli.running import run

if TYPE_CHECKING:
    from publisher.record import Recorded, RecordPlan

__all__ = ["app"]

app = new_app("Record a cluster's watch.")


@app.command()
def record(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to create; gzipped when it ends with .gz.")],
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="By default KUBECONFIG, the pod's account, ~/.kube/config.")
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="A context of the kubeconfig.")] = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="Stop by itself, e.g. after '10m'.")
    ] = None,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Record the names of owned Secrets too; needs the right to list them.")
    ] = False,
    keep_annotations: Annotated[
        list[str] | None,
        typer.Option("--keep-annotation", metavar="KEY", help="Keep its values; Kamaji's are kept. Repeatable."),
    ] = None,
    kamaji: Annotated[str, typer.Option(metavar="RELEASE", help="The operator's release, for the header.")] = "unknown",
) -> None:
    """Record what the API server says of Kamaji's objects, for a bug report.

    Ctrl-C ends it; the file is whole up to then. Kamaji's two kinds are recorded with their spec and status, owned
    kinds only by name and labels, and whatever could be a secret is replaced so that changes of it stay visible.
    Look through the file before you give it away. See which events it gives with: kamaji-events derive FILE

    \b
    Examples:
      kamaji-events record upgrade.jsonl.gz
      kamaji-events record stuck.jsonl.gz --for 10m --context prod
    """  # noqa: D301 - \b keeps click from filling the lines
    from publisher.record import Recorded, RecordPlan

    plan = RecordPlan(secrets=secrets, keep_annotations=tuple(keep_annotations or ()), kamaji=kamaji)
    told = Recorded()
    sys.stderr.write(f"recording to {file}; {'it ends by itself' if duration else 'Ctrl-C ends it'}\n")
    try:
        run(_record(file, kubeconfig, context, _seconds(duration), plan, told))
    except KeyboardInterrupt:
        pass  # the usual end of a recording, not a failure
    finally:
        _sum_up(told)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    from kamaji_events.duration import seconds
    from kamaji_events.errors import SettingsError

    try:
        return float(str(seconds(text)))
    except ValueError as error:
        raise SettingsError(f"--for {text!r}: {error}") from error


async def _record(
    file: Path, kubeconfig: Path | None, context: str | None, length: float | None, plan: "RecordPlan", told: "Recorded"
) -> None:
    import asyncio
    from contextlib import suppress

    from publisher.record import record as write
    from publisher.watch.api import Api
    from publisher.watch.credentials import find_credentials

    async with Api(find_credentials(kubeconfig, context)) as api:
        with suppress(TimeoutError):
            async with asyncio.timeout(length):
                await write(api, file, plan, told=told)


def _sum_up(told: "Recorded") -> None:
    if not told.lines:
        return
    sys.stderr.write(f"{told.lines} lines, {told.relists} lists anew\n")
    for kind, why in told.left_out.items():
        sys.stderr.write(f"  left out: {kind}: {why}\n")
