"""What the consumers count."""

from prometheus_client import CollectorRegistry

from kamaji_events.metrics import Metrics

__all__ = ["ConsumerMetrics"]


class ConsumerMetrics:
    """All metrics of the consumers' process; labels are names from the configuration, so their number is bounded."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        made = Metrics("consumers", registry)
        one = ["subscription"]
        self.registry = made.registry
        self.tries = made.counter("tries", "Tries by outcome.", [*one, "outcome"])
        self.delivered = made.counter("delivered", "Events that the receiver has.", one)
        self.retried = made.counter("retried", "Events put off after a failed try.", one)
        self.skipped = made.counter("skipped", "Events that the filter's labels left out.", one)
        self.dead = made.counter("dead_letters", "Events given up, by why.", [*one, "why"])
        self.try_seconds = made.histogram("try_seconds", "Length of one try.", one)
        self.lag_seconds = made.histogram("lag_seconds", "From the event's time to its delivery.", one)
        self.in_flight = made.gauge("tries_in_flight", "Tries under way.", one)
        self.status = made.gauge("subscription_status", "1 for the status it is in.", [*one, "status"])
        self.suspended = made.gauge("subscription_suspended", "1 while over its quota and unbound.", one)
        self.waiting = made.gauge("waiting", "Events that wait in the subscription's queue.", one)
        self.held = made.gauge("held_objects", "Objects with a failing event that later ones wait for.", one)
        self.connected = made.gauge("connected", "1 while connected to RabbitMQ.")
        self.reconnects = made.counter("reconnects", "Connections to RabbitMQ that were lost.")
        self.config_valid = made.gauge("config_valid", "0 while the subscriptions file cannot be used as it is now.")
        self.removed = made.gauge("removed_subscriptions", "Subscriptions whose queues wait for --prune.")
        self.publisher_silent = made.gauge(
            "publisher_silent", "1 while a cluster's publisher has stopped saying that it is alive.", ["cluster"]
        )
        self.publisher_last = made.gauge(
            "publisher_last_alive_seconds", "When a cluster's publisher last said so, since 1970.", ["cluster"]
        )
