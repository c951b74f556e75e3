"""The log sink: one line of JSON for each event, to try a filter or to feed a log collector."""

import sys
from typing import Literal, TextIO

from consumers.sinks.base import Delivered, Delivery, Failed, Outcome
from consumers.sinks.context import SinkContext
from consumers.sinks.settings import SinkSettings

__all__ = ["LogSink"]


class LogSink:
    """Writes each event's own bytes as one line."""

    class Settings(SinkSettings):
        """Settings of the sink ``log``."""

        stream: Literal["stdout", "stderr"] = "stdout"
        """Where lines go: standard output is free of the service's own log lines."""

    def __init__(self, settings: Settings, context: SinkContext) -> None:  # noqa: ARG002 - a factory's signature
        self._stream: Literal["stdout", "stderr"] = settings.stream

    async def deliver(self, delivery: Delivery) -> Outcome:
        """Write the line; a closed or full stream is a failure, not a loss."""
        stream: TextIO = getattr(sys, self._stream)
        # Structured-mode JSON has no raw newline outside strings unless it was written by hand with indents.
        text = delivery.event.raw.decode("utf-8", errors="replace").replace("\n", " ").replace("\r", " ")
        try:
            stream.write(text + "\n")
            stream.flush()
        except (OSError, ValueError) as error:  # ValueError: I/O operation on closed file
            return Failed(f"{self._stream}: {error}")
        return Delivered()

    async def aclose(self) -> None:
        """Nothing to let go of."""
