"""Two recordings, three hundred control planes, from a simulated API server to a receiver, against ``derive``."""

from pathlib import Path

import orjson
import pytest

from kamaji_events.broker.topology import Layout
from kamaji_events.event import Event
from kamaji_events.simulator import Replay, Simulator, Store, multiply, read_recording
from publisher.derive import derive
from tests.support.consumers import new_house, stage, until
from tests.support.installation import CLUSTER, installation, unclocked
from tests.support.receiver import Receiver, receiver
from tests.support.recordings import RECORDINGS

pytestmark = [pytest.mark.broker, pytest.mark.e2e]

SPEED = 20.0
COUNT = 300
Told = tuple[str | None, str, str | None, str | None]


def told(event: Event) -> Told:
    """What must be equal."""
    return event.subject, event.id, event.sequence, event.operationid


def held(hook: Receiver) -> set[Told]:
    """What a receiver holds, once each."""
    return {told(Event.from_bytes(request.body)) for request in hook.requests}


@pytest.mark.timeout(180)
async def test_what_the_receiver_holds_is_what_derive_says(rabbit: str, layout: Layout, tmp_path: Path) -> None:
    """Equal in subject, id, sequence and operationid; each object's sequence arrives without a gap.

    Time alone says nothing here: limits and holds are longer than the test, on both sides alike.
    """
    recordings = [list(read_recording(RECORDINGS / f"{name}.jsonl.gz")) for name in ("lifecycle", "migrate")]
    lines = list(multiply(recordings, COUNT, seed=1, speed=SPEED))
    expected = {told(Event.from_bytes(message.body)) for message in derive(lines, policy=unclocked(), cluster=CLUSTER)}
    assert len({subject for subject, *_ in expected}) >= COUNT
    store, house = Store(), new_house()
    replay = Replay.of(store, lines)
    async with (
        Simulator(store) as sim,
        receiver() as hook,
        stage(rabbit, house, tmp_path) as scene,
        installation(sim, rabbit, house.layout, tmp_path, more=house.common_topology()) as place,
        place.replica() as replica,
    ):
        everything = {"clusters": [CLUSTER], "events": ["tenantcontrolplane.*.*", "datastore.*.*"]}
        scene.write(scene.subscription(hook.url) | {"filter": everything})
        async with scene.service():
            await replica.leading()
            await place.ears.synced("a")
            await replay.run()
            await until(lambda: len(hook.requests) >= len(expected), hook.arrived)
            await until(lambda: held(hook) >= expected, hook.arrived)
        assert held(hook) == expected
        assert orjson.loads(hook.requests[0].body)["specversion"] == "1.0"
    place.ears.check()
