"""A subscriber in plain pika: a queue of one's own, bound to what is wanted, acknowledged when it is done with.

    AMQP_URL=amqp://guest:guest@localhost:5672/ python subscriber.py '*.upgrade.*.#' '*.outage.*.#'

The words of a key are kind, event (two), cluster, namespace and name; the object itself stands in the event.
"""

import json
import os
import sys

import pika

_QUEUE = os.environ.get("QUEUE", "my-upgrades")
_EXCHANGE = os.environ.get("EXCHANGE", "kamaji.events")


def main() -> None:
    """Show events until Ctrl-C."""
    patterns = sys.argv[1:] or ["*.upgrade.*.#"]
    with pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"])) as connection:
        channel = connection.channel()
        # A quorum queue keeps events while this program is away; a limit, so that it can be forgotten safely.
        channel.queue_declare(
            _QUEUE,
            durable=True,
            arguments={"x-queue-type": "quorum", "x-max-length": 100_000, "x-expires": 7 * 86_400_000},
        )
        for pattern in patterns:
            channel.queue_bind(_QUEUE, _EXCHANGE, pattern)
        channel.basic_qos(prefetch_count=100)
        print(f"waiting for {', '.join(patterns)}", flush=True)
        for method, _, body in channel.consume(_QUEUE):
            event = json.loads(body)
            print(event["time"], event["type"], event.get("subject", ""), event.get("sequence", ""), flush=True)
            channel.basic_ack(method.delivery_tag)


if __name__ == "__main__":
    main()
