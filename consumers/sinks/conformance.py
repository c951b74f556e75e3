"""The suite that every sink passes, for the authors of plug-ins.

Subclass it in a test file and say how your sink and a receiver are set up; pytest alone is enough::

    class TestMySink(SinkConformance):
        @asynccontextmanager
        async def rig(self):
            async with my_receiver() as there:
                settings = MySink.Settings.model_validate({"url": there.url})
                yield Rig(sink=MySink(settings, SinkContext()), received=there.bodies, hang=there.hang, fail=there.fail)

The suite closes the sink. ``hang``, ``fail`` and ``heal`` may be left out where a receiver cannot do such a thing.
"""

# ruff: noqa: S101 - a test suite: assert is its tool

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import orjson

from consumers.sinks.base import Delivered, Delivery, Failed, Gone, Outcome, Rejected, Sink, Throttled
from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import encode
from kamaji_events.event import Event

__all__ = ["Rig", "SinkConformance", "example_event"]

_OUTCOMES = (Delivered, Failed, Gone, Rejected, Throttled)
_MANY = 20


@dataclass(frozen=True, slots=True)
class Rig:
    """A sink and what it delivers to."""

    sink: Sink
    """Fresh, not used yet."""
    received: Callable[[], Awaitable[Sequence[bytes]]]
    """What the receiver has got, one entry for each event or message."""
    hang: Callable[[], None] | None = None
    """From now on the receiver takes requests and answers nothing."""
    fail: Callable[[], None] | None = None
    """From now on the receiver refuses everything."""
    heal: Callable[[], None] | None = None
    """The receiver is well again."""
    exact: bool = True
    """Whether the receiver must get the event's own bytes; False for sinks that make something else of it."""


def example_event(number: int = 1, **data: Any) -> Event:
    """An event as a publisher makes it.

    Args:
        number: makes another event, of another object.
        data: merged over the payload.
    """
    row = lookup(Kind.TENANTCONTROLPLANE, "state.ready")
    uid = f"00000000-0000-4000-8000-{number:012d}"
    message = encode(
        row,
        cluster="eu-1",
        namespace="tenants",
        name=f"tenant-{number}",
        uid=uid,
        id=f"{uid}.{1000 + number}.{row.name}",
        seconds=1_796_133_600.0 + number,
        sequence=f"000001-{number:014d}",
        term=1,
        data={"severity": str(row.severity), "object": {"name": f"tenant-{number}"}, **data},
    )
    return Event.from_bytes(message.body)


def _delivery(number: int = 1, **data: Any) -> Delivery:
    return Delivery(example_event(number, **data), subscription="conformance")


class SinkConformance:
    """Subclass it with a name that starts with ``Test``."""

    deadline: float = 10.0
    """Seconds in which anything here must be done."""

    def rig(self) -> AbstractAsyncContextManager[Rig]:
        """A fresh sink and its receiver."""
        raise NotImplementedError

    def _run(self, case: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            async with self.rig() as rig:
                try:
                    async with asyncio.timeout(self.deadline):
                        await case(rig)
                finally:
                    await self._close(rig)

        asyncio.run(run())

    async def _close(self, rig: Rig) -> None:
        try:
            async with asyncio.timeout(self.deadline):
                await rig.sink.aclose()
        except TimeoutError:
            raise AssertionError(f"aclose() did not return within {self.deadline:g} s") from None

    async def _delivered(self, rig: Rig, delivery: Delivery) -> None:
        outcome = await rig.sink.deliver(delivery)
        assert isinstance(outcome, Delivered), f"a well receiver took nothing: {outcome}"

    def test_it_is_a_sink(self) -> None:
        """It has the two methods."""

        async def case(rig: Rig) -> None:
            assert isinstance(rig.sink, Sink), "a sink has deliver() and aclose()"

        self._run(case)

    def test_it_can_be_closed_unused(self) -> None:
        """A sink that never delivered closes, too."""

        async def case(_: Rig) -> None:
            pass

        self._run(case)

    def test_it_delivers_the_bytes_of_the_queue(self) -> None:
        """What was received are the event's own bytes, never a new serialisation."""

        async def case(rig: Rig) -> None:
            spaced = orjson.dumps(orjson.loads(example_event(1, snow="snö ☃").raw), option=orjson.OPT_INDENT_2)
            delivery = Delivery(Event.from_bytes(spaced), subscription="conformance")
            await self._delivered(rig, delivery)
            got = await rig.received()
            assert got, "nothing was received"
            assert not rig.exact or spaced in got, "the bytes are not those of the queue"
            assert delivery.event.raw == spaced, "the event was changed"

        self._run(case)

    def test_it_delivers_many_at_once(self) -> None:
        """Concurrent deliveries do not disturb each other."""

        async def case(rig: Rig) -> None:
            deliveries = [_delivery(number) for number in range(_MANY)]
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(rig.sink.deliver(delivery)) for delivery in deliveries]
            outcomes = [task.result() for task in tasks]
            assert all(isinstance(outcome, _OUTCOMES) for outcome in outcomes)
            taken = [one.event.raw for one, had in zip(deliveries, outcomes, strict=True) if isinstance(had, Delivered)]
            assert taken, "not one was delivered"
            if rig.exact:
                assert len(taken) == _MANY, f"only {len(taken)} of {_MANY} were delivered"
                missing = set(taken) - set(await rig.received())
                assert not missing, f"{len(missing)} were called delivered and did not arrive"

        self._run(case)

    def test_a_refusal_is_an_outcome(self) -> None:
        """A receiver that refuses makes no exception, and never a ``Delivered``."""

        async def case(rig: Rig) -> None:
            if rig.fail is None:
                return
            rig.fail()
            outcome: Outcome = await rig.sink.deliver(_delivery())
            assert isinstance(outcome, _OUTCOMES), f"deliver() returned {outcome!r}"
            assert not isinstance(outcome, Delivered), "a refused event was called delivered"
            assert outcome.error, "an error text is missing"
            assert "\n" not in outcome.error, "an error text is one line"
            if rig.heal is not None:
                rig.heal()
                await self._delivered(rig, _delivery(2))

        self._run(case)

    def test_it_lets_cancellation_pass(self) -> None:
        """A delivery to a receiver that hangs can be cancelled, and the sink goes on."""

        async def case(rig: Rig) -> None:
            if rig.hang is None:
                return
            rig.hang()
            tasks = [asyncio.create_task(rig.sink.deliver(_delivery(number))) for number in range(3)]
            await asyncio.wait(tasks, timeout=0.2)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            swallowed = [task for task in tasks if not task.cancelled() and isinstance(task.result(), Delivered)]
            assert not swallowed, "a cancelled delivery was called delivered"
            if rig.heal is not None:
                rig.heal()
                await self._delivered(rig, _delivery(9))

        self._run(case)

    def test_odd_events_have_an_outcome(self) -> None:
        """A foreign event, one without data and a large one raise nothing."""

        async def case(rig: Rig) -> None:
            foreign = orjson.dumps({"specversion": "1.0", "id": "a b/ü\n", "source": "x", "type": "org.example.thing"})
            bare = orjson.dumps({"specversion": "1.0", "id": "7", "source": "/x", "type": "t", "data": [1, None]})
            large = example_event(3, reason={"word": "Large", "message": "x" * 900_000}).raw
            for raw in (foreign, bare, large):
                outcome = await rig.sink.deliver(Delivery(Event.from_bytes(raw), subscription="conformance"))
                assert isinstance(outcome, _OUTCOMES), f"deliver() returned {outcome!r}"

        self._run(case)
