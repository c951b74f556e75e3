"""24 hours in which nothing happens, in virtual time, for the whole publisher: what it asks, says, holds and keeps."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from kamaji_events.broker.topology import Layout
from kamaji_events.event import Event
from kamaji_events.simulator.kubeconfig import write_kubeconfig
from publisher.run import Service
from publisher.settings import PublisherSettings
from publisher.watch.ask import Ask, Target
from publisher.watch.token_file import TokenFile
from tests.support.fake_broker import FakeRabbit
from tests.support.quiet_source import QuietSource
from tests.support.tcp import START, Store, Tcp

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(240)]

MINUTE, HOUR = 60.0, 3600.0
MANY = 50
RENEWED = 5 * MINUTE
"""The journal is written anew so often."""


class QuietCluster(QuietSource):
    """Control planes and a DataStore in which nothing moves; each request must bring the token of the last minute."""

    def __init__(self, token: Path) -> None:
        super().__init__()
        self._token = token
        self._file = TokenFile(token, clock=lambda: asyncio.get_running_loop().time())
        self._tenants = [Tcp(f"tcp-{number}").running().object for number in range(MANY)]
        self._stores = [Store().object]
        self.stale = 0.0
        """Seconds for which a token was used at most after another one was in the file."""
        self._rotated = 0.0
        self.tokens: set[str] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def there(self, ask: Ask) -> list[dict[str, Any]]:
        """Of the kind asked for."""
        return self._stores if ask.path.endswith("datastores") else self._tenants

    def _ask(self, ask: Ask) -> None:
        super()._ask(ask)
        used, now = self._file.header().removeprefix("Bearer "), asyncio.get_running_loop().time()
        self.tokens.add(used)
        if used != self._token.read_text():
            self.stale = max(self.stale, now - self._rotated)

    async def rotate(self) -> None:
        """Another token each 50 minutes, as the kubelet does."""
        while True:
            await asyncio.sleep(50 * MINUTE)
            self._rotated = asyncio.get_running_loop().time()
            self._token.write_text(f"token-{self._rotated:.0f}")


class Day:
    """A publisher and what surrounds it."""

    def __init__(self, service: Service, cluster: QuietCluster, rabbit: FakeRabbit, layout: Layout) -> None:
        self.service, self.cluster, self.rabbit, self._layout = service, cluster, rabbit, layout

    def told(self) -> list[Event]:
        """Everything that was published."""
        return [Event.from_bytes(message.body) for message in self.rabbit.queues[self._layout.history].log]

    def journal(self) -> int:
        """Messages that the journal's leader holds, or that wait there."""
        return len(self.rabbit.queues[self._layout.journal("eu-1")].ready) + self.held()

    def held(self) -> int:
        """Messages out at consumers and not acknowledged."""
        return sum(
            len(session.unacked) for connection in self.rabbit.connections for session in connection.sessions.values()
        )

    def objects(self) -> int:
        """Objects of this project and of asyncio that live, without the questions that the fake server keeps."""
        gc.collect()
        rooms, kept = ("publisher", "kamaji_events", "asyncio", "_asyncio"), (Ask, Target)
        living = (one for one in gc.get_objects() if not isinstance(one, kept))
        return sum(str(type(one).__module__).partition(".")[0] in rooms for one in living)


@asynccontextmanager
async def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Day]:
    """A publisher that leads, over fakes of both its neighbours."""
    (tmp_path / "token").write_text("token-0")
    rabbit, cluster, layout = FakeRabbit(), QuietCluster(tmp_path / "token"), Layout("quiet")
    monkeypatch.setattr("publisher.run.Api", lambda _: cluster)
    monkeypatch.setattr("publisher.run.connect", lambda *_, **__: rabbit.connect())
    loop = asyncio.get_running_loop()
    given: dict[str, Any] = {"amqp_url": "amqp://fake/", "cluster": "eu-1", "instance": "a", "health_port": 0}
    given |= {"kubeconfig": write_kubeconfig(tmp_path / "kubeconfig", "https://virtual", None)}
    settings = PublisherSettings(**given, health_host="127.0.0.1")
    service = Service(settings, layout=layout, clock=lambda: START + loop.time())
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(service.run()), tasks.create_task(cluster.rotate())]
        await service.leads.wait()
        yield Day(service, cluster, rabbit, layout)
        for task in running:
            task.cancel()


async def test_a_quiet_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat a minute, a compare each six hours, one leadership, tokens as they change, and nothing that grows."""
    async with day(tmp_path, monkeypatch) as quiet:
        await asyncio.sleep(2 * HOUR + MINUTE / 2)  # between two heartbeats
        tasks, objects = len(asyncio.all_tasks()), quiet.objects()
        await asyncio.sleep(22 * HOUR)
        assert quiet.service.condition.ready() is None
        assert quiet.service.condition.live() is None
        assert len(asyncio.all_tasks()) == tasks
        assert quiet.journal() <= 2 * (2 * RENEWED / MINUTE + 1), (
            "a batch and its end a minute, since the last base but one"
        )
        assert quiet.service.pipeline.waiting == 0
        assert abs(quiet.objects() - objects) < 50
        names = [event.name for event in quiet.told()]
    assert {name: names.count(name) for name in set(names) - {"state.alive", "sync.completed"}} == {"state.leading": 1}
    assert 24 * 60 - 2 <= names.count("state.alive") <= 24 * 60 + 1
    assert 2 * 4 <= names.count("sync.completed") <= 2 * 5, "both kinds, at the start and each six hours"
    assert len(quiet.cluster.times("watch")) <= 2 * (24 * 15 + 5)
    assert len(quiet.cluster.tokens) >= 24
    assert quiet.cluster.stale <= MINUTE
