"""A last deadline around each run of a test, for what pytest-timeout's own cannot end.

pytest-timeout arms its timer once a test: a run again of a failed test (``--reruns``) has none, nor has the closing of
fixtures. What hangs there would hold the whole check. Past this deadline the process says where every thread stands
and ends; pytest-xdist calls that test failed and goes on in a new process.
"""

import faulthandler
import os
from collections.abc import Iterator
from typing import Protocol

import pytest

__all__ = ["pytest_configure", "pytest_runtest_setup", "pytest_runtest_teardown", "seconds"]

_AT_LEAST = 60.0
"""Seconds for opening and closing what whole sessions share: a broker, an API server."""
_stderr: list[int] = []


class _Timed(Protocol):
    def get_closest_marker(self, name: str) -> pytest.Mark | None: ...

    @property
    def config(self) -> pytest.Config: ...


def seconds(item: _Timed) -> float:
    """How long one run of this test may take with its fixtures: twice its own bound, and a minute more."""
    mark = item.get_closest_marker("timeout")
    bound = mark.args[0] if mark is not None and mark.args else item.config.getini("timeout")
    return 2 * float(bound or 0) + _AT_LEAST


def pytest_configure(config: pytest.Config) -> None:
    """Keep the real standard error: while a test runs its descriptor leads into the capture."""
    _stderr.append(os.dup(2))
    config.add_cleanup(lambda: os.close(_stderr.pop()))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Each run begins here, the first as well as one again."""
    faulthandler.dump_traceback_later(seconds(item), exit=True, file=_stderr[-1])
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Each run ends here, also when its setup failed."""
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
