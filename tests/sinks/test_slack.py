"""The Slack sink against a stand-in that enforces Slack's limits."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.sinks.base import Delivered, Failed, Gone, Outcome, Rejected, Throttled
from consumers.sinks.context import SinkContext
from consumers.sinks.memory import ProcessMemory
from consumers.sinks.registry import build
from consumers.sinks.slack import SlackSink
from consumers.sinks.slack.blocks import flood_message, line_message, message
from consumers.sinks.slack.limits import cut, escape, joined, units
from consumers.sinks.slack.settings import SlackSettings
from kamaji_events.catalogue import CATALOGUE
from kamaji_events.errors import BrokerUnavailable, SettingsError
from tests.support.samples import NOW, sample_delivery, sample_event
from tests.support.slack import CHANNEL, TOKEN, SlackStandIn

Make = Callable[..., SlackSink]

_ENVIRON = {"TOKEN": TOKEN, "HOOK": "https://hooks.slack.com/services/T0/B0/x"}


def _settings(**given: Any) -> SlackSettings:
    way = {} if "webhookUrl" in given else {"token": {"fromEnv": "TOKEN"}, "channel": CHANNEL}
    return SlackSettings.model_validate({"interval": 0, **way, **given}, context={"environ": _ENVIRON})


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Builds Slack sinks on a stand-in and closes them."""
    async with AsyncExitStack() as stack:

        def made(slack: SlackStandIn, *, context: dict[str, Any] | None = None, **settings: Any) -> SlackSink:
            given: dict[str, Any] = {"clock": lambda: NOW, **(context or {})}
            sink = SlackSink(_settings(**settings), SinkContext(**given), transport=slack.transport())
            stack.push_async_callback(sink.aclose)
            return sink

        yield made


def _texts(said: dict[str, Any]) -> str:
    parts = [block["text"]["text"] for block in said["blocks"] if block["type"] == "section"]
    return "\n".join(parts)


async def test_an_operation_is_one_message_with_a_thread(make: Make) -> None:
    """The first event is the message, the others are answers, and the message says how it ended."""
    slack = SlackStandIn()
    sink = make(slack)
    for counter, name in enumerate(("upgrade.requested", "upgrade.started", "upgrade.completed")):
        assert await sink.deliver(sample_delivery(name, counter=counter)) == Delivered()
    (parent,) = slack.parents
    assert "*Upgrade completed: v1.31.4 → v1.32.0 in 1 min 23 s*\ntenants/acme on eu-1" in _texts(parent)
    ts = next(iter(slack.messages))
    assert ["started" in _texts(said) for said in slack.answers(ts)] == [True, False]
    assert [method for method, _ in slack.calls] == ["chat.postMessage"] + ["chat.postMessage", "chat.update"] * 2


async def test_a_copy_says_nothing_twice_and_an_old_event_turns_nothing_back(make: Make) -> None:
    """Redelivered events are silent; one that was held up is told in the thread only."""
    slack = SlackStandIn()
    memory = ProcessMemory()
    sink = make(slack, context={"memory": memory})
    first, late, last = (
        sample_delivery(name, counter=counter)
        for counter, name in enumerate(("upgrade.requested", "upgrade.started", "upgrade.completed"))
    )
    for delivery in (first, last, last, late, first):
        assert await sink.deliver(delivery) == Delivered()
    other = make(slack, context={"memory": memory})
    assert await other.deliver(last) == Delivered()
    (parent,) = slack.parents
    assert "Upgrade completed" in _texts(parent)
    assert len(slack.messages) == 3


async def test_a_try_that_failed_half_way_is_finished_by_the_next(make: Make) -> None:
    """The answer was said and the update was not: the next try only updates."""
    slack = SlackStandIn()
    sink = make(slack)
    await sink.deliver(sample_delivery("upgrade.started", counter=1))
    slack.refuse = lambda method, _: "internal_error" if method == "chat.update" else None
    assert isinstance(await sink.deliver(sample_delivery(counter=2)), Failed)
    slack.refuse = lambda *_: None
    assert await sink.deliver(sample_delivery(counter=2)) == Delivered()
    assert len(slack.messages) == 2
    assert "Upgrade completed" in _texts(slack.parents[0])


async def test_a_deleted_message_is_said_anew(make: Make) -> None:
    """Somebody deleted it, or the time for edits is over."""
    slack = SlackStandIn()
    sink = make(slack)
    await sink.deliver(sample_delivery("upgrade.started", counter=1))
    slack.messages.clear()
    assert await sink.deliver(sample_delivery(counter=2)) == Delivered()
    assert "Upgrade completed" in _texts(slack.parents[0])


async def test_a_mass_upgrade_is_one_living_message(make: Make) -> None:
    """Three get messages of their own, the rest share one that counts all and names what went wrong."""
    slack = SlackStandIn()
    sink = make(slack, interval=0.01)
    total = 40

    async def upgrade(number: int, name: str, counter: int) -> Outcome:
        tenant: dict[str, Any] = {"tenant": f"t{number:02d}", "uid": f"uid-{number:02d}"}
        return await sink.deliver(sample_delivery(name, counter=counter, **tenant))

    for number in range(3):
        assert await upgrade(number, "upgrade.started", 1) == Delivered()
    assert set(await asyncio.gather(*(upgrade(number, "upgrade.started", 1) for number in range(3, total)))) == {
        Delivered()
    }
    living = slack.parents[-1]
    assert len(slack.parents) == 4
    assert f"*Upgrade to v1.32.0 on eu-1: 0 of {total} done*" in _texts(living)
    before = len(slack.calls)
    ends = ["upgrade.stalled" if number in (7, 9) else "upgrade.completed" for number in range(3, total)]
    await asyncio.gather(*(upgrade(number, name, 2) for number, name in enumerate(ends, start=3)))
    living = slack.parents[-1]
    assert f"{total - 5} of {total} done" in _texts(living)
    assert "*Stalled (2):* tenants/t07, tenants/t09" in _texts(living)
    assert len(slack.calls) - before < 10
    assert len(slack.parents) == 4


async def test_another_worker_goes_on_with_the_living_message(make: Make) -> None:
    """What was counted is in the memory: after a restart the same message goes on."""
    slack, memory = SlackStandIn(), ProcessMemory()
    for worker in range(3):
        sink = make(slack, context={"memory": memory}, group={"after": 1})
        for number in range(worker * 2, worker * 2 + 2):
            tenant: dict[str, Any] = {"tenant": f"t{number}", "uid": f"uid-{number}"}
            assert await sink.deliver(sample_delivery("upgrade.completed", **tenant)) == Delivered()
    assert len(slack.parents) == 2
    assert "6 of 6 done" in _texts(slack.parents[-1])


async def test_two_workers_at_once_count_together(make: Make) -> None:
    """Each knows what the other has written."""
    slack, memory = SlackStandIn(), ProcessMemory()
    sinks = [make(slack, context={"memory": memory}, group={"after": 1}) for _ in range(2)]
    for number in range(8):
        tenant: dict[str, Any] = {"tenant": f"t{number}", "uid": f"uid-{number}"}
        assert await sinks[number % 2].deliver(sample_delivery("upgrade.completed", **tenant)) == Delivered()
    assert "8 of 8 done" in _texts(slack.parents[-1])
    assert len(slack.parents) == 2


class _Slow(SlackStandIn):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    def transport(self) -> httpx.MockTransport:
        async def answer(request: httpx.Request) -> httpx.Response:
            self.asked.set()
            await self.may.wait()
            return self(request)

        return httpx.MockTransport(answer)


@pytest.mark.parametrize("settings", [{"group": None}, {"group": {"after": 1}}], ids=["threads", "living messages"])
async def test_while_one_worker_is_at_a_message_another_comes_again(make: Make, settings: dict[str, Any]) -> None:
    """Both hear of one operation at once: one message is begun, and the later event is told in it."""
    slack, memory = _Slow(), ProcessMemory()
    one, two = (make(slack, context={"memory": memory}, **settings) for _ in range(2))
    slack.may.set()
    assert await one.deliver(sample_delivery("upgrade.started", tenant="other", uid="other")) == Delivered()
    slack.asked.clear()
    slack.may.clear()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(one.deliver(sample_delivery("upgrade.started", counter=1)))
        await slack.asked.wait()
        refused = await two.deliver(sample_delivery("upgrade.completed", counter=2))
        slack.may.set()
    assert await first == Delivered()
    assert isinstance(refused, Throttled)
    assert refused.retry_after
    assert await two.deliver(sample_delivery("upgrade.completed", counter=2)) == Delivered()
    assert len(slack.parents) == 2


async def test_a_deleted_living_message_is_said_anew(make: Make) -> None:
    """The next update finds it gone and posts it again, with all that was counted."""
    slack = SlackStandIn()
    sink = make(slack, group={"after": 1})
    for number in range(4):
        if number == 3:
            slack.messages.clear()
        tenant: dict[str, Any] = {"tenant": f"t{number}", "uid": f"uid-{number}"}
        assert await sink.deliver(sample_delivery("upgrade.completed", **tenant)) == Delivered()
    assert len(slack.parents) == 1
    assert "4 of 4 done" in _texts(slack.parents[0])


async def test_after_the_window_it_starts_afresh(make: Make) -> None:
    """A quiet while later the same news is a new message."""
    slack = SlackStandIn()
    now = NOW
    sink = make(slack, context={"clock": lambda: now}, group={"after": 1, "window": 60})
    for number in range(4):
        now += 61 if number == 2 else 1
        await sink.deliver(sample_delivery("upgrade.completed", tenant=f"t{number}", uid=f"uid-{number}"))
    assert len(slack.parents) == 4


async def test_the_same_state_of_many_is_one_message(make: Make) -> None:
    """A flood of states is folded too, without a thread."""
    slack = SlackStandIn()
    sink = make(slack)
    for number in range(6):
        await sink.deliver(sample_delivery("state.notready", tenant=f"t{number}", uid=f"uid-{number}"))
    assert len(slack.messages) == 4
    assert "*State notready on eu-1: 6 so far*" in _texts(slack.parents[-1])
    assert "tenants/t5" in _texts(slack.parents[-1])


async def test_without_grouping_each_object_has_its_own(make: Make) -> None:
    """``group: null``."""
    slack = SlackStandIn()
    sink = make(slack, group=None)
    for number in range(6):
        await sink.deliver(sample_delivery("upgrade.started", tenant=f"t{number}", uid=f"uid-{number}"))
    assert len(slack.parents) == 6


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("msg_blocks_too_long", Rejected),
        ("invalid_blocks", Rejected),
        ("is_archived", Gone),
        ("token_revoked", Gone),
        ("not_in_channel", Failed),
        ("invalid_auth", Failed),
        ("internal_error", Failed),
        ("a_word_of_tomorrow", Failed),
        ("ratelimited", Throttled),
    ],
)
async def test_ok_false_is_a_failure_by_its_word(make: Make, word: str, kind: type) -> None:
    """The status is 200 all the same."""
    slack = SlackStandIn()
    slack.refuse = lambda *_: word
    outcome = await make(slack).deliver(sample_delivery())
    assert isinstance(outcome, kind)
    assert word in str(outcome)


async def test_a_refused_flood_is_one_call(make: Make) -> None:
    """All that waited for the update share its failure; nobody tries again by themselves."""
    slack = SlackStandIn()
    sink = make(slack, interval=0.01, group={"after": 1})
    await sink.deliver(sample_delivery("upgrade.completed"))
    slack.refuse = lambda *_: "internal_error"
    before = len(slack.calls)
    outcomes = await asyncio.gather(
        *(sink.deliver(sample_delivery(tenant=f"t{number}", uid=f"uid-{number}")) for number in range(10))
    )
    assert all(isinstance(outcome, Failed) for outcome in outcomes)
    assert len(slack.calls) - before == 1


@pytest.mark.looptime
async def test_one_message_a_second(make: Make) -> None:
    """Calls keep their distance; who would wait longer than a few seconds is sent back to the broker."""
    loop = asyncio.get_running_loop()
    slack = SlackStandIn(clock=loop.time)
    sink = make(slack, context={"clock": loop.time}, interval=1.2, group=None)
    outcomes = await asyncio.gather(*(sink.deliver(sample_delivery("state.ready", counter=n)) for n in range(10)))
    assert outcomes.count(Delivered()) == len(slack.calls) == 4
    rest = [outcome for outcome in outcomes if isinstance(outcome, Throttled)]
    assert len(rest) == 6
    assert all(outcome.retry_after and outcome.retry_after > 5 for outcome in rest)


@pytest.mark.looptime
async def test_retry_after_holds_everyone_back(make: Make) -> None:
    """After a 429 nothing is sent until the time that Slack asked for is over."""
    loop = asyncio.get_running_loop()
    slack = SlackStandIn(clock=loop.time)
    sink = make(slack, context={"clock": loop.time}, interval=0)
    assert await sink.deliver(sample_delivery("state.ready")) == Delivered()
    refused = await sink.deliver(sample_delivery("state.ready", counter=8))
    assert isinstance(refused, Throttled)
    assert refused.retry_after == 7
    held = await sink.deliver(sample_delivery("state.ready", counter=9))
    assert isinstance(held, Throttled)
    assert len(slack.calls) == 1
    await asyncio.sleep(7)
    assert await sink.deliver(sample_delivery("state.ready", counter=9)) == Delivered()


async def test_incoming_webhook(make: Make) -> None:
    """Each event is a message; Slack's words and statuses have the same meanings."""
    slack = SlackStandIn()
    sink = make(slack, webhookUrl={"fromEnv": "HOOK"})
    assert await sink.deliver(sample_delivery("upgrade.started")) == Delivered()
    assert await sink.deliver(sample_delivery("upgrade.completed")) == Delivered()
    assert [method for method, _ in slack.calls] == ["hook", "hook"]
    for response, kind in (
        (httpx.Response(404, text="no_service"), Gone),
        (httpx.Response(410, text="channel_is_archived"), Gone),
        (httpx.Response(403, text="action_prohibited"), Failed),
        (httpx.Response(400, text="invalid_payload"), Rejected),
        (httpx.Response(429, headers={"retry-after": "3"}, text="rate_limited"), Throttled),
        (httpx.Response(500, text="<html>oops</html>"), Failed),
        (httpx.Response(301, headers={"location": "https://x.example"}), Failed),
    ):
        slack.refuse = lambda *_, said=response: said
        outcome = await make(slack, webhookUrl={"fromEnv": "HOOK"}).deliver(sample_delivery())
        assert isinstance(outcome, kind)
        assert "html" not in str(outcome)


async def test_a_memory_that_is_away_is_a_failure(make: Make) -> None:
    """Nothing is said twice for it, and no event is lost."""

    class _Away(ProcessMemory):
        async def get(self, key: str) -> bytes | None:  # noqa: ARG002
            raise BrokerUnavailable("connection lost")

    slack = SlackStandIn()
    outcome = await make(slack, context={"memory": _Away()}).deliver(sample_delivery())
    assert outcome == Failed("the sink's memory: connection lost")
    assert slack.calls == []


@given(
    tenant=st.text(min_size=1, max_size=300),
    reason=st.text(max_size=5000),
    blockers=st.lists(
        st.dictionaries(st.sampled_from(["kind", "name", "message"]), st.text(max_size=3000)), max_size=80
    ),
    old=st.text(max_size=2000),
)
def test_every_event_fits_whatever_it_holds(tenant: str, reason: str, blockers: list[Any], old: str) -> None:
    """Messages are within Slack's limits, and no text of an event becomes a mention, a link or a broken entity."""
    settings = _settings(links=[{"text": "Console", "url": "https://console.example/{cluster}/{namespace}/{name}"}])
    event = sample_event(
        "upgrade.stalled",
        tenant=tenant.encode("utf-8", "replace").decode(),
        reason={"word": "Because", "message": reason},
        blockers=blockers,
        operation={"from": old, "to": "<!channel> & <https://evil.example|x>", "durationSeconds": 1e9},
    )
    for made in (message(event, settings), line_message(event, settings)):
        assert SlackStandIn.limits(made) is None
        for text in re.findall(r"<[^>]*>", str(made["blocks"])):
            assert text.startswith(("<!date^", "<https://console.example/"))
        assert not re.search(r"&(?!amp;|lt;|gt;)", made["text"])


def test_every_event_of_the_catalogue_has_a_message() -> None:
    """Also those of publishers, subscriptions and DataStores, and without any data."""
    given: list[dict[str, Any]] = [{}, {"object": None, "state": None, "operation": None}]
    for row in CATALOGUE:
        for data in given:
            event = sample_event(row.name, kind=row.kind, **data)
            assert SlackStandIn.limits(message(event, _settings())) is None


@given(st.lists(st.text(min_size=1, max_size=300), max_size=1200))
def test_a_flood_fits_with_any_number_of_names(names: list[str]) -> None:
    """A thousand failed objects are as many names as fit, and a number."""
    said = flood_message("Upgrade", 5000, 3, {"Stalled": names, "Cancelled": names, "Under way": names}, failed=True)
    assert SlackStandIn.limits(said) is None


@given(st.text(), st.integers(min_value=1, max_value=60))
def test_cutting(text: str, most: int) -> None:
    """Cut text fits, is a start of the whole, and never ends in the middle of an entity or a surrogate pair."""
    made = escape(text, most)
    assert units(made) <= most
    assert re.fullmatch(r"(?:[^&<>]|&amp;|&lt;|&gt;)*", made, re.DOTALL)
    assert units(cut(text, most)) <= most
    assert len(made.encode("utf-16-le", "surrogatepass")) // 2 == units(made)


def test_joined_counts_the_rest() -> None:
    """Whole parts only, and how many are left out."""
    assert joined(["aa", "bb", "cc"], 100) == "aa, bb, cc"
    assert joined(["aa", "bb", "cc"], 14) == "aa, and 2 more"
    assert joined(["a" * 50], 10) == "and 1 more"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "slack: needs exactly one of webhookUrl and token"),
        ({"webhookUrl": "https://hooks.slack.com/services/x"}, "slack.webhookUrl: who has this URL can post"),
        ({"token": "xoxb-1", "channel": CHANNEL}, "slack.token: a secret must not stand in the settings"),
        ({"token": {"fromEnv": "TOKEN"}}, "slack: token and channel belong together"),
        ({"token": {"fromEnv": "TOKEN"}, "channel": "#ops"}, "slack.channel"),
        ({"links": [{"text": "x", "url": "https://x/{secret}"}]}, "only {cluster}, {namespace}, {name}, {id}"),
        ({"mention": {"critical": "@here"}}, "write <!here>"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], told: str) -> None:
    """Each is told with its key."""
    with pytest.raises(SettingsError) as caught:
        build("slack", settings, context=SinkContext(environ=_ENVIRON))
    assert told in str(caught.value)
    assert "services/x" not in str(caught.value)
