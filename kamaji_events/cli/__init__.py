"""The command ``kamaji-events``: one module a command, loaded when it is called."""

__all__ = ["main"]


def main() -> None:
    """Entry point of the ``kamaji-events`` script."""
    from kamaji_events.cli.root import app

    app(prog_name="kamaji-events")
