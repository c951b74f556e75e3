"""What the two services' command lines share."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kamaji_events.settings import Settings

__all__ = ["ConfigFile", "HealthPort", "LogFormat", "LogLevel", "start_logs"]

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="YAML file of settings; also KAMAJI_EVENTS_CONFIG."),
]
LogLevel = Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")]
LogFormat = Annotated[str | None, typer.Option(metavar="FORMAT", help="auto, text or json.")]
HealthPort = Annotated[int | None, typer.Option(metavar="PORT", help="/livez, /readyz and /metrics; 0 takes any.")]


def start_logs(settings: "Settings", service: str) -> None:
    """Set up logging and say what runs, with every setting and no secret."""
    from kamaji_events import __version__
    from kamaji_events.logs import configure

    configure(settings.log_level, settings.log_format)
    logging.getLogger(__name__).info("%s %s starts", service, __version__, extra={"settings": settings.summary()})
