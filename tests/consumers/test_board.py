"""The board: what one worker writes all read, also after restarts and with its beginning dropped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from consumers import record as r
from consumers.board import Board
from consumers.state import Status
from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.topology import Queue, Topology
from kamaji_events.broker.wire import Outgoing
from tests.support.rabbit import fresh

if TYPE_CHECKING:
    from kamaji_events.broker.publish import ConfirmingPublisher


class Log:
    """A stream in memory that is its own reader and publisher; its beginning can be dropped."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, str, bytes]] = []
        self.more = asyncio.Event()

    async def publish(self, message: Outgoing, **_: Any) -> None:
        """Append."""
        self.messages.append((len(self.messages), message.properties.message_id or "", message.body))
        self.more.set()

    @asynccontextmanager
    async def consume(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[Any]]:
        """Read from the first message that is left."""
        yield self._read()

    async def _read(self) -> AsyncIterator[Any]:
        at = 0
        while True:
            while at < len(self.messages):
                offset, nonce, body = self.messages[at]
                at += 1
                yield SimpleNamespace(
                    headers={"x-stream-offset": offset},
                    properties=SimpleNamespace(message_id=nonce),
                    body=body,
                    ack=lambda: asyncio.sleep(0),
                )
            self.more.clear()
            await self.more.wait()

    def without(self, dropped: int) -> "Log":
        """The same log with so many messages gone from its beginning; offsets stay."""
        shorter = Log()
        shorter.messages = self.messages[dropped:]
        return shorter


@asynccontextmanager
async def _on(reading: Any, publisher: Any, stream: str, worker: str, **more: Any) -> AsyncIterator[Board]:
    board = Board(cast("Broker", reading), cast("ConfirmingPublisher", publisher), stream, worker=worker, **more)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(board.run())
        await board.loaded.wait()
        yield board
        task.cancel()


def _paused(by: str) -> r.Paused:
    return r.Paused(subscription="s", at=1, by=by, error="down", probe_at=2)


@pytest.mark.parametrize("dropped", [0, 1, 5, 20])
async def test_snapshots_stand_for_a_beginning_that_was_dropped(dropped: int) -> None:
    """A board that begins in the middle takes the first snapshot and what came after it, nothing twice."""
    log = Log()
    async with _on(log, log, "s", "a", snapshot_bytes=300) as board:
        for number in range(40):
            await board.append(r.Held(subscription="s", at=1, object="o", sequence=f"{number:02}", due=9))
            await board.append(r.Released(subscription="s", at=1, object="o", sequence=f"{number - 2:02}"))
        whole = board.get("s")
    snapshots = sum(isinstance(r.decode_record(body), r.Snapshot) for *_, body in log.messages if body)
    assert snapshots > 5
    shorter = log.without(dropped)
    async with _on(shorter, shorter, "s", "b") as later:
        assert later.get("s") == whole
    assert set(whole.held["o"]) == {"38", "39"}


async def test_a_record_of_a_newer_release_is_left_aside(caplog: pytest.LogCaptureFixture) -> None:
    """An older worker goes on and says so."""
    log = Log()
    log.messages.append((0, "n", b'{"type":"Danced","subscription":"s","at":1}'))
    async with _on(log, log, "s", "a") as board:
        assert board.states == {}
        await board.append(_paused("a"))
        assert board.get("s").status is Status.PAUSED
    assert "newer release" in caplog.text


async def test_news_ends_by_a_record_a_nudge_or_the_time() -> None:
    """Whoever waits is woken by each of them."""
    log = Log()
    async with _on(log, log, "s", "a") as board, asyncio.TaskGroup() as tasks:
        await board.news(0.0)
        first = tasks.create_task(board.news(1e6))
        await board.append(_paused("a"))
        await first
        second = tasks.create_task(board.news(1e6))
        while not second.done():
            board.nudge()
            await asyncio.sleep(0)


@pytest.mark.broker
async def test_of_two_writers_one_is_first_for_both_and_a_later_worker_knows(rabbit: str) -> None:
    """Both pause at the same time on a real stream: exactly one sees that it changed something."""
    stream = fresh("board")
    topology = Topology(queues=(Queue(stream, {"x-queue-type": "stream"}),))
    async with connect(rabbit, name="test reading") as reading, connect(rabbit, name="test publishing") as publishing:
        await declare.apply(publishing, topology)
        async with publishing.publisher() as publisher:
            async with _on(reading, publisher, stream, "a") as a, _on(reading, publisher, stream, "b") as b:
                answers = await asyncio.gather(a.append(_paused("a")), b.append(_paused("b")))
                assert sorted(before.status for before, _ in answers) == [Status.ACTIVE, Status.PAUSED]
                await a.until("s", lambda state: state.status is Status.PAUSED)
                assert a.get("s") == b.get("s")
            async with _on(reading, publisher, stream, "c") as c:
                assert c.get("s").status is Status.PAUSED
        await declare.delete(publishing, topology)
