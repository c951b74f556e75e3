"""The demo's last words: figures, and whether every promise was kept."""

from dataclasses import dataclass

from kamaji_events.cli.demo.ledger import Ledger, percentile
from kamaji_events.cli.receiving import Tally

__all__ = ["Summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a run."""

    changes: int
    """Watch lines that the publisher judged."""
    published: int
    """Events that RabbitMQ confirmed."""
    tally: Tally
    """What the receiver took."""
    ledger: Ledger
    """What it heard, by object and operation."""
    seconds: float
    """From the first change to the last event."""

    def problems(self) -> list[str]:
        """What went wrong; empty when nothing did."""
        found = [*self.tally.problems, *self.ledger.problems()]
        if self.tally.events != self.published:
            found.append(f"{self.published} events were published and {self.tally.events} arrived")
        created, gone = self.ledger.events["create.started"], self.ledger.events["delete.completed"]
        if not created or created != gone:
            found.append(f"{created} control planes came and {gone} were heard to be gone")
        return found

    def lines(self) -> list[str]:
        """For people."""
        ledger, tally = self.ledger, self.tally
        half, most = (percentile(ledger.latencies, share) * 1000 for share in (0.5, 0.99))
        told = [
            f"changes seen       {self.changes:6}   watch lines of the API server",
            f"events published   {self.published:6}   {ledger.operations} operations among them",
            f"events delivered   {tally.events:6}   {tally.copies} copies, {tally.refused} refused",
            f"latency            p50 {half:.0f} ms, p99 {most:.0f} ms   from the API server's write to the receiver",
            f"took               {self.seconds:5.1f} s",
        ]
        problems = self.problems()
        if not problems:
            return [*told, "all well: signatures, ids, gapless sequences, one start and one end an operation"]
        return [*told, *(f"WRONG: {problem}" for problem in problems)]
