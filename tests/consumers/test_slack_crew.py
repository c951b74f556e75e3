"""Two workers at one Slack channel: its pace is kept, each operation has one thread, nothing is lost."""

import asyncio
import time
from collections import Counter

import httpx
import pytest

from kamaji_events.catalogue import Kind, lookup
from kamaji_events.envelope import Message, encode
from kamaji_events.identity import sequence
from tests.support.consumers import Stage, until
from tests.support.receiver import Request, receiver, response
from tests.support.samples import NOW
from tests.support.slack import CHANNEL, TOKEN, SlackStandIn

pytestmark = pytest.mark.broker

_STEPS = ("upgrade.requested", "upgrade.started", "upgrade.completed")
_TENANTS = tuple(f"t{number}" for number in range(4))
_WAIT = 1


class SlackServer:
    """The stand-in behind HTTP; a connection that it sent away remembers until when."""

    def __init__(self) -> None:
        self.slack = SlackStandIn(clock=time.monotonic, gap=0.1, retry_after=_WAIT)
        self.sent_away: dict[int, float] = {}
        self.early = 0
        self.calls: Counter[int] = Counter()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """What Slack answers."""
        now = time.monotonic()
        self.early += now < self.sent_away.get(request.connection, 0.0)
        headers = {"authorization": request.headers["authorization"]}
        asked = httpx.Request("POST", f"http://127.0.0.1{request.target}", headers=headers, content=request.body)
        said = self.slack(asked)
        shown = {name: value for name, value in said.headers.items() if name == "retry-after"}
        if shown:
            self.sent_away[request.connection] = now + _WAIT
        else:
            self.calls[request.connection] += 1
        return await response(said.status_code, said.content, shown)(request, writer)

    def told(self) -> bool:
        """Whether every operation's message says its end, with all steps in its thread."""
        threads = {ts: self.slack.answers(ts) for ts, said in self.slack.messages.items() if "thread_ts" not in said}
        done = sum("Upgrade completed" in str(said["blocks"]) for said in self.slack.parents)
        return done >= len(_TENANTS) and sum(map(len, threads.values())) >= len(_TENANTS) * (len(_STEPS) - 1)


def _step(scene: Stage, tenant: str, step: str, number: int) -> Message:
    """An event of a tenant's upgrade."""
    event, operation = lookup(Kind.TENANTCONTROLPLANE, step), f"{tenant}-{scene.mark}.upgrade.1"
    return encode(
        event,
        cluster=scene.mark,
        namespace="tenants",
        name=tenant,
        uid=f"{tenant}-{scene.mark}",
        id=f"{operation}.{event.second}",
        seconds=NOW,
        sequence=sequence(1, number),
        term=1,
        data={"object": {"name": tenant, "namespace": "tenants", "labels": {}}, "severity": "info"},
        operationid=operation,
    )


async def test_two_workers_share_a_channel(scene: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are sent away with Retry-After and come no sooner; in the end one thread an operation with all its steps."""
    monkeypatch.setenv("TOKEN", TOKEN)
    server = SlackServer()
    async with receiver(server.answer) as hook:
        api = f"http://127.0.0.1:{hook.port}/api"
        slack = {"token": {"fromEnv": "TOKEN"}, "channel": CHANNEL, "apiUrl": api, "interval": "100ms", "group": None}
        scene.write(scene.subscription(sink={"slack": slack}, concurrency=3))
        async with scene.service(instance="a"), scene.service(instance="b"):
            steps = enumerate(_STEPS, 1)
            await scene.publish(*[_step(scene, tenant, step, n) for n, step in steps for tenant in _TENANTS])
            await until(server.told, hook.arrived)
        assert await scene.count(scene.queue()) + await scene.count(scene.dead()) == 0
    assert len(server.slack.parents) == len(_TENANTS)
    assert len(server.slack.messages) == len(_TENANTS) * len(_STEPS)
    assert server.sent_away
    assert server.early == 0
    assert len(server.calls) > 1  # both were at work
