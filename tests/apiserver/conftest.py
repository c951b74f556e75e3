"""A real API server for the session, with Kamaji's definitions; each test leaves it as it found it."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.apiserver.binaries import BinariesMissing, build, find
from tests.apiserver.cluster import Cluster
from tests.apiserver.kube import Kube

_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is marked; one worker runs all of it, and starting the server is no test's time."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.apiserver)
            item.add_marker(pytest.mark.xdist_group("apiserver"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(60, func_only=True))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The API server. Without its binaries: skipped on a developer's machine, built (or failed) where CI=true."""
    found = find()
    if found is None:
        if os.environ.get("CI") != "true":
            pytest.skip("no kube-apiserver and etcd: run tests/apiserver/build once, or set KUBEBUILDER_ASSETS")
        try:
            found = build()
        except BinariesMissing as error:
            pytest.fail(str(error))
    with Cluster(found, tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
async def kube(cluster: Cluster) -> AsyncIterator[Kube]:
    """An administrator's client of a cluster with Kamaji's definitions and no object of theirs."""
    async with Kube(cluster) as client:
        await client.install_kamaji()
        yield client
        await client.clean()
