"""Fixtures of the watch's tests."""

from collections.abc import AsyncIterator

import pytest

from publisher.watch.access import Access
from publisher.watch.api import Api
from publisher.watch.credentials import FixedCredentials
from tests.support.tiny_cluster import TinyCluster

__all__ = ["api", "cluster"]


@pytest.fixture
async def cluster() -> AsyncIterator[TinyCluster]:
    """A cluster of a few lines."""
    async with TinyCluster() as running:
        yield running


@pytest.fixture
async def api(cluster: TinyCluster) -> AsyncIterator[Api]:
    """A client of it."""
    async with Api(FixedCredentials(Access(cluster.url, "a test"))) as client:
        yield client
