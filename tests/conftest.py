"""Fixtures that every room's tests may ask for."""

import asyncio
import os

from hypothesis import settings

from tests.support.deadline import pytest_configure, pytest_runtest_setup, pytest_runtest_teardown
from tests.support.rabbit import layout, private_node, rabbit, tls_node

__all__ = [
    "layout",
    "private_node",
    "pytest_configure",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "rabbit",
    "tls_node",
]

# Python 3.11 makes a loop when the first one is asked for, pytest-asyncio asks and nobody closes it: a ResourceWarning.
asyncio.set_event_loop(None)

# No test asserts a time: Hypothesis judges each example by 200 ms unless told otherwise, or in CI.
settings.register_profile("unhurried", deadline=None)
if "CI" not in os.environ:
    settings.load_profile("unhurried")
