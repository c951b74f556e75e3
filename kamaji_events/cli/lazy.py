"""A command group that knows its commands by name and help, and loads one when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command

from kamaji_events.cli.told import told

__all__ = ["LazyGroup", "new_app"]


class LazyGroup(TyperGroup):
    """Commands are modules of ``kamaji_events.cli``, each with an ``app``."""

    commands_help: ClassVar[Mapping[str, str]] = {}
    """Name and one line of help, in the order of the help."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's own signature
        """Every command, in order."""
        return list(self.commands_help)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's own signature
        """Load a command; None when there is none of that name."""
        if cmd_name not in self.commands_help:
            return None
        return get_command(import_module(f"kamaji_events.cli.{cmd_name}").app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - click's own signature
        """List the commands without loading one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.commands_help.items()))

    def invoke(self, ctx: Any) -> Any:
        """Run, and tell errors in one line."""
        with told():
            return super().invoke(ctx)


def new_app(text: str, *, group: bool = False) -> typer.Typer:
    """A command or group of plain help and no tracebacks.

    Args:
        text: the help.
        group: keep the name of its command even while there is only one.
    """
    app = typer.Typer(
        help=text, rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, no_args_is_help=group
    )
    if group:
        app.callback()(lambda: None)
    return app
