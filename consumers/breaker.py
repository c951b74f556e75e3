"""When a receiver counts as down: several failures in a row, over several events."""

from consumers.policy import Circuit

__all__ = ["Breaker", "probe_interval"]


def probe_interval(circuit: Circuit, probes: int) -> float:
    """Seconds until the next probe, after so many that failed."""
    return min(circuit.probe_first * 2.0 ** min(probes, 40), circuit.probe_most)


class Breaker:
    """Counts what one worker sees of one receiver."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._failures = 0
        self._events: set[str] = set()

    def answered(self) -> None:
        """The receiver answered, with yes or no: it is there."""
        self._failures = 0
        self._events.clear()

    def failed(self, event_id: str) -> bool:
        """It did not take an event.

        Returns:
            True when it now counts as down.
        """
        self._failures += 1
        if len(self._events) < self._circuit.events:
            self._events.add(event_id)
        wanted = self._circuit
        return bool(wanted.failures) and self._failures >= wanted.failures and len(self._events) >= wanted.events
