"""What cases stand on: one RabbitMQ of the bench's own, helper processes, services of this project, a folder."""

import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import orjson

from bench.child import Child
from bench.measure import SkippedError
from kamaji_events.broker import declare
from kamaji_events.broker.connection import Broker, connect
from kamaji_events.broker.node import RabbitNode
from kamaji_events.broker.topology import Binding, Layout, Queue, Topology

__all__ = ["HEARTBEAT", "PREFIX", "Ground"]

HEARTBEAT = 600
"""Seconds, of the bench's own connections: a case may keep the loop busy for a while."""

T = TypeVar("T")

_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - opens nothing

PREFIX = "bench"
"""First word of every queue; what differs between rounds is the cluster."""


class Ground:
    """Opened once for a run of the bench; what cases take from it stays until the end.

    Args:
        quick: once and small.
        beside: another one, whose RabbitMQ is used.
    """

    def __init__(self, *, quick: bool, beside: "Ground | None" = None) -> None:
        self.quick = quick
        self._beside = beside
        self.layout = Layout(PREFIX)
        self._stack = AsyncExitStack()
        self._kept: dict[str, Any] = {}
        self._case = AsyncExitStack()
        self._of_case: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="kamaji-bench-")))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.tidy()
        await self._stack.aclose()

    async def keep(self, name: str, manager: AbstractAsyncContextManager[T]) -> T:
        """Open something once for all rounds of a module's cases; what is open under the name is given back."""
        if name not in self._of_case:
            self._of_case[name] = await self._case.enter_async_context(manager)
        kept: T = self._of_case[name]
        return kept

    async def tidy(self) -> None:
        """Close what a module's cases kept."""
        self._of_case.clear()
        await self._case.aclose()

    def fresh(self, word: str) -> str:
        """A name that no other round uses."""
        return f"{word}-{uuid4().hex[:8]}"

    def size(self, full: int, quick: int) -> int:
        """How many of something, by the size of the run."""
        return quick if self.quick else full

    async def url(self) -> str:
        """RabbitMQ's URL; a node of the bench's own is started when it is asked for first.

        Raises:
            SkippedError: there is no rabbitmq-server here.
        """
        if self._beside is not None:
            return await self._beside.url()
        if "node" not in self._kept:
            if not RabbitNode.available():
                raise SkippedError("there is no rabbitmq-server here; on Debian: apt-get install rabbitmq-server")
            self._kept["node"] = await self._stack.enter_async_context(RabbitNode())
        url: str = self._kept["node"].url
        return url

    async def broker(self) -> Broker:
        """A connection of the bench itself."""
        if "broker" not in self._kept:
            self._kept["broker"] = await self._stack.enter_async_context(
                connect(await self.url(), name="bench", heartbeat=HEARTBEAT)
            )
            await declare.apply(self._kept["broker"], self.layout.exchange_topology())
        broker: Broker = self._kept["broker"]
        return broker

    async def helper(self, module: str, *words: str) -> Child:
        """A helper process of ``bench.children``, the same each time it is asked for."""
        name = " ".join((module, *words))
        if name not in self._kept:
            child = Child(f"bench.children.{module}", *words, log=self.folder / f"{module}.log")
            self._kept[name] = await self._stack.enter_async_context(child)
        helper: Child = self._kept[name]
        return helper

    async def receiver(self) -> tuple[Child, str]:
        """The webhook receiver and its address."""
        child = await self.helper("receiver")
        return child, (await child.ask("url"))["url"]

    @asynccontextmanager
    async def worker(self, *subscriptions: Mapping[str, Any]) -> AsyncIterator[Child]:
        """One process of ``kamaji-events consumers run`` that serves these subscriptions."""
        await self.broker()
        file = self.folder / f"{self.fresh('subscriptions')}.yaml"
        file.write_bytes(orjson.dumps({"subscriptions": list(subscriptions)}))
        words = ("consumers", "run", "--subscriptions", str(file), "--allow", "loopback", "--group", self.fresh("g"))
        async with self._service(*words) as child:
            yield child

    @asynccontextmanager
    async def publisher(
        self, cluster: str, kubeconfig: Path, *, url: str | None = None, **settings: str
    ) -> AsyncIterator[Child]:
        """One process of ``kamaji-events publisher run``."""
        await self.broker()
        words = ("publisher", "run", "--cluster", cluster, "--kubeconfig", str(kubeconfig))
        async with self._service(*words, url=url, **settings) as child:
            yield child

    @asynccontextmanager
    async def _service(self, *words: str, url: str | None = None, **settings: str) -> AsyncIterator[Child]:
        env = {"AMQP_URL": url or await self.url(), "KAMAJI_EVENTS_PREFIX": PREFIX, "BENCH_WEBHOOK_SECRET": _SECRET}
        env |= {f"KAMAJI_EVENTS_{name.upper()}": value for name, value in settings.items()}
        name = self.fresh(words[0])
        words = (*words, "--instance", name, "--health-port", "0", "--log-format", "json")
        async with Child("kamaji_events", *words, env=env, log=self.folder / f"{name}.log") as child:
            yield child

    @asynccontextmanager
    async def queue(self, keys: Sequence[str], *, word: str = "tap") -> AsyncIterator[str]:
        """A quorum queue bound to the events exchange, gone at the end."""
        broker = await self.broker()
        queue = Queue(f"{PREFIX}.{self.fresh(word)}", {"x-queue-type": "quorum"})
        bindings = tuple(Binding(self.layout.events, queue.name, key) for key in keys)
        topology = Topology(queues=(queue,), bindings=bindings)
        await declare.apply(broker, topology)
        try:
            yield queue.name
        finally:
            await declare.delete(broker, Topology(queues=(queue,)))
