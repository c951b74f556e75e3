"""``python -m kamaji_events.simulator '{"filled": 10000}'``: a simulator in a process of its own, for measurements.

The argument is a ``ServePlan`` as JSON. One line of JSON with its URL is printed once it listens; SIGTERM ends it.
"""

import asyncio
import json
import signal
import sys

from kamaji_events.simulator.serve import ServePlan, serve
from kamaji_events.simulator.server import Simulator


def _ready(simulator: Simulator) -> None:
    sys.stdout.write(json.dumps({"url": simulator.url}) + "\n")
    sys.stdout.flush()


async def _main(plan: ServePlan) -> None:
    task = asyncio.create_task(serve(plan, on_ready=_ready))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


if __name__ == "__main__":
    asyncio.run(_main(ServePlan.decode(sys.argv[1] if len(sys.argv) > 1 else "{}")))
