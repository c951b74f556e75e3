"""Running a coroutine as a command: Ctrl-C and SIGTERM cancel it, and it has its time to tidy up."""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

__all__ = ["calm_collector", "run"]

T = TypeVar("T")

_RARELY = (20_000, 20, 20)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """``uvloop`` where its extra is installed: less CPU an event."""
    if find_spec("uvloop") is None:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    return factory


def calm_collector() -> None:
    """Have cycles looked for more rarely: by default that takes a sixth of a worker's CPU and finds nearly nothing."""
    gc.freeze()
    gc.set_threshold(*_RARELY)


def run(main: Coroutine[Any, Any, T], *, service: bool = False) -> T | None:
    """Run to the end, or until a signal.

    Args:
        main: what to run; cancelled by SIGINT and SIGTERM.
        service: a process that runs for weeks: uvloop, rarer garbage collection, and errors of the loop are logged.

    Returns:
        What ``main`` returns; None when SIGTERM ended it, which is a service's normal end.

    Raises:
        KeyboardInterrupt: Ctrl-C ended it.
    """
    if service:
        calm_collector()
    with asyncio.Runner(loop_factory=_loop_factory() if service else None) as runner:
        return runner.run(_until_sigterm(main, service=service))


async def _until_sigterm(main: Coroutine[Any, Any, T], *, service: bool) -> T | None:
    loop = asyncio.get_running_loop()
    if service:
        from kamaji_events.logs import watch_loop

        watch_loop(loop)
    task = asyncio.ensure_future(main)
    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, end)
    try:
        return await task
    except asyncio.CancelledError:
        if ended:
            return None
        raise  # Ctrl-C: asyncio's runner makes a KeyboardInterrupt of it
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
