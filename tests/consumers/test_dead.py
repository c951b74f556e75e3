"""Dead letters and orphans: listed without harm, sent again, thrown away."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from consumers.control import open_control
from consumers.dead import ORPHANS, Choice, DeadLetter, DeadLetters
from consumers.headers import Death, Travel
from kamaji_events.broker.wire import Outgoing
from kamaji_events.envelope import Message
from kamaji_events.errors import BrokerError, SettingsError
from tests.support.consumers import Stage, until
from tests.support.cut_proxy import Proxy
from tests.support.receiver import receiver

pytestmark = pytest.mark.broker


def _letter(
    scene: Stage, message: Message, *, why: str = "TriesUsedUp", error: str = "500", at: float = 1e9
) -> Outgoing:
    death = Death(subscription=scene.name(), why=why, error=error, at=at)
    headers = Travel(tries=10, last_error=error).write() | death.write()
    return Outgoing(message.body, scene.name(), Outgoing.of(message, headers).properties)


@contextlib.asynccontextmanager
async def _opened(scene: Stage, url: str | None = None) -> AsyncIterator[DeadLetters]:
    async with open_control(url or scene.url, scene.house) as control:
        yield DeadLetters(control)


async def _declared(scene: Stage, *words: str) -> None:
    """Have the subscriptions declared by a service that ran; disabled ones deliver nothing."""
    scene.write(*[scene.subscription(sink="log", word=word, more={"enabled": False}) for word in words or ("hook",)])
    async with scene.service():
        pass


async def test_letters_are_listed_by_every_part_of_a_choice_and_stay_in_their_place(scene: Stage) -> None:
    """Ids, events, namespaces, names, error and age; looking twice gives the same twice."""
    await _declared(scene)
    letters = [
        _letter(scene, scene.event("a", event="upgrade.started", name="acme")),
        _letter(scene, scene.event("b", event="state.ready", name="beta"), why="Rejected", error="413 too large"),
        _letter(scene, scene.event("c", event="upgrade.completed", name="acme"), at=2e9),
    ]
    await scene.publish(*letters, exchange=scene.house.layout.dead)
    async with _opened(scene) as dead:
        found = await dead.list(scene.name())
        assert [letter.id for letter in found] == ["a", "b", "c"]
        assert (found[0].why, found[0].error, found[0].tries, found[0].died_at) == ("TriesUsedUp", "500", 10, 1e9)
        assert found[0].body == letters[0].body
        for choice, ids in (
            (Choice(ids=frozenset("b")), ["b"]),
            (Choice(events=("upgrade.*",)), ["a", "c"]),
            (Choice(namespaces=("ten*",), names=("beta",)), ["b"]),
            (Choice(namespaces=("other",)), []),
            (Choice(error="TOO large"), ["b"]),
            (Choice(older=3600.0), ["a", "b"]),
            (Choice(younger=3600.0), ["c"]),
        ):
            assert [letter.id for letter in await dead.list(scene.name(), choice)] == ids
        assert [letter.id for letter in await dead.list(scene.name(), most=2)] == ["a", "b"]
        assert await dead.show(scene.name(), "nothing") is None
        assert [letter.id for letter in await dead.list(scene.name())] == ["a", "b", "c"]


async def test_redriven_letters_arrive_as_they_were_with_all_tries_ahead(scene: Stage) -> None:
    """Same bytes and id, past the filter, from the first try on; what was not chosen stays."""
    async with receiver() as hook:
        scene.write(scene.subscription(hook.url, events=("upgrade.*",)))
        async with scene.service(), _opened(scene) as dead:
            event = scene.event("a", event="state.ready")
            letters = [_letter(scene, event), _letter(scene, scene.event("b", name="other"))]
            await scene.publish(*letters, exchange=scene.house.layout.dead)
            assert await dead.redrive(scene.name(), Choice(names=("acme",))) == 1
            await until(lambda: len(hook.requests) == 1, hook.arrived)
            assert hook.requests[0].body == event.body
            assert [letter.id for letter in await dead.list(scene.name())] == ["b"]
            assert await dead.purge(scene.name()) == 1
            assert await dead.list(scene.name()) == []


async def test_letters_can_go_to_another_subscription(scene: Stage) -> None:
    """One receiver's dead letters are another's events; an unknown one is refused and nothing is lost."""
    await _declared(scene, "hook", "other")
    await scene.publish(*[_letter(scene, scene.event(f"e{n}")) for n in range(3)], exchange=scene.house.layout.dead)
    async with _opened(scene) as dead:
        assert await dead.redrive(scene.name(), to=scene.name("other"), most=2) == 2
        assert await scene.count(scene.queue("other")) == 2
        with pytest.raises(BaseExceptionGroup) as raised:
            await dead.redrive(scene.name(), to="nobody")
        assert raised.group_contains(SettingsError)
        assert [letter.id for letter in await dead.list(scene.name())] == ["e2"]


async def test_a_redrive_that_is_cut_off_loses_nothing(scene: Stage) -> None:
    """Cut in the middle: every letter is in one place or the other, with the same id."""
    await _declared(scene)
    ids = {f"e{number}" for number in range(400)}
    await scene.publish(*[_letter(scene, scene.event(one)) for one in ids], exchange=scene.house.layout.dead)
    async with Proxy.to(scene.url) as proxy:

        async def cut_in_the_middle() -> None:
            while await scene.count(scene.queue()) < 50:
                pass
            proxy.cut()

        async def redrive() -> None:
            async with asyncio.TaskGroup() as tasks, _opened(scene, proxy.url) as dead:
                tasks.create_task(cut_in_the_middle())
                await dead.redrive(scene.name())
                await asyncio.get_running_loop().create_future()

        with pytest.raises((BrokerError, BaseExceptionGroup)):
            await redrive()
    async with scene.broker.consume(scene.queue(), 1000) as sent:
        seen: set[str] = set()
        async with _opened(scene) as dead:
            left = {letter.id for letter in await dead.list(scene.name())}
        while seen | left != ids:
            incoming = await anext(sent)
            seen.add(incoming.properties.message_id or "")


async def test_orphans_are_listed_and_sent_on(scene: Stage) -> None:
    """A retry whose subscription is gone ends among the orphans and can go to another one."""
    await _declared(scene)
    lost = scene.event("lost")
    gone = f"gone-{scene.mark}"
    message = Outgoing(lost.body, gone, Outgoing.of(lost).properties)
    await scene.publish(message, exchange=scene.house.layout.tier(1))
    async with _opened(scene) as dead:
        mine = Choice(ids=frozenset(("lost",)))
        found: list[DeadLetter] = []
        while not found:
            found = await dead.list(ORPHANS, mine)
        assert (found[0].subscription, found[0].body) == (gone, lost.body)
        assert await dead.redrive(ORPHANS, mine, to=scene.name()) == 1
        assert await scene.count(scene.queue()) == 1
