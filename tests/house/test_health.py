"""The health server, asked over HTTP."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from kamaji_events.errors import SettingsError
from kamaji_events.health import HealthServer
from kamaji_events.metrics import Metrics


class Problems:
    """What the checks say."""

    live: str | None = None
    ready: str | None = None


@pytest_asyncio.fixture
async def problems() -> Problems:
    """All well at first."""
    return Problems()


@pytest_asyncio.fixture
async def url(problems: Problems) -> AsyncIterator[str]:
    """A server on a free port."""
    metrics = Metrics("publisher")
    metrics.counter("events", "Events said.", ["event"]).labels("state.ready").inc()
    async with HealthServer(
        "127.0.0.1", 0, live=lambda: problems.live, ready=lambda: problems.ready, registry=metrics.registry
    ) as server:
        yield f"http://127.0.0.1:{server.port}"


async def _get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def test_well_is_200(url: str) -> None:
    """Both probes are green when no check has a problem."""
    assert await _get(f"{url}/livez") == (200, '{"status": "ok"}')
    assert await _get(f"{url}/readyz") == (200, '{"status": "ok"}')


async def test_a_problem_is_503_and_told(url: str, problems: Problems) -> None:
    """Readiness and liveness are judged apart."""
    problems.ready = "the broker refuses the password"

    status, body = await _get(f"{url}/readyz")

    assert status == 503
    assert "the broker refuses the password" in body
    assert (await _get(f"{url}/livez"))[0] == 200


async def test_metrics_are_those_of_the_registry(url: str) -> None:
    """Own metrics carry the prefix and the part, beside those of the process."""
    status, body = await _get(f"{url}/metrics")

    assert status == 200
    assert 'kamaji_events_publisher_events_total{event="state.ready"} 1.0' in body
    assert "kamaji_events_build_info" in body
    assert "process_cpu_seconds_total" in body


async def test_a_taken_port_names_the_cure() -> None:
    """The error is one of the user's input."""
    async with HealthServer("127.0.0.1", 0) as first:
        with pytest.raises(SettingsError, match="KAMAJI_EVENTS_HEALTH_PORT"):
            async with HealthServer("127.0.0.1", first.port):
                pass


def test_gauges_and_histograms_carry_the_part() -> None:
    """Every kind of metric is named the same way."""
    metrics = Metrics("consumers")
    metrics.gauge("waiting", "Waiting.").set(3)
    metrics.histogram("delivery_seconds", "Time.").observe(0.2)

    assert metrics.registry.get_sample_value("kamaji_events_consumers_waiting") == 3
    assert metrics.registry.get_sample_value("kamaji_events_consumers_delivery_seconds_count") == 1
