"""Fixtures of the sinks' tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from consumers.sinks.base import Sink
from consumers.sinks.context import SinkContext
from consumers.sinks.registry import build
from tests.support.samples import SECRET


@pytest.fixture
async def make() -> AsyncIterator[Callable[..., Sink]]:
    """Builds sinks that may talk to loopback, and closes them."""
    async with AsyncExitStack() as stack:

        def made(name: str, settings: dict[str, Any], *, context: SinkContext | None = None, **given: Any) -> Sink:
            environ = {"SECRET": SECRET, **given.pop("environ", {})}
            given = {"allow": ("loopback",), "subscription": "pager", **given}
            sink = build(
                name,
                settings,
                where="subs.yaml: pager",
                context=context or SinkContext(environ=environ, **given),
            )
            stack.push_async_callback(sink.aclose)
            return sink

        yield made
