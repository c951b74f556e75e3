"""Measuring on a noisy machine: ours and the baselines in turn, ratios round by round, medians with spread.

A single time says little on a shared machine; a ratio of two things measured one after the other says more, and
the median of several such ratios says what we quote.
"""

import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

__all__ = ["Case", "Result", "Sample", "SkippedError", "Stopwatch", "Target", "run"]


class SkippedError(Exception):
    """A case cannot be run here; the text is why."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one thing."""

    units: int
    """How many events, lines, deliveries."""
    seconds: float
    cpu: float
    """CPU seconds of the process that is judged, user and system."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """Further figures of this run by name, such as ``rss_mb``."""

    def figure(self, name: str) -> float:
        """``rate`` (units a second), ``cost`` (CPU microseconds a unit), ``seconds``, ``cpu`` or an extra one."""
        match name:
            case "rate":
                return self.units / self.seconds
            case "cost":
                return self.cpu / self.units * 1e6
            case "seconds":
                return self.seconds
            case "cpu":
                return self.cpu
            case _:
                return self.extra[name]


class Stopwatch:
    """Wall and CPU time of a block, for this process or for the children that ended in it."""

    def __init__(self, *, children: bool = False) -> None:
        self._who = resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF
        self.seconds = self.cpu = 0.0

    def _cpu(self) -> float:
        used = resource.getrusage(self._who)
        return used.ru_utime + used.ru_stime

    def __enter__(self) -> Self:
        self._started, self._burnt = time.perf_counter(), self._cpu()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds, self.cpu = time.perf_counter() - self._started, self._cpu() - self._burnt

    def sample(self, units: int, **extra: float) -> Sample:
        """What was measured, over ``units``."""
        return Sample(units, self.seconds, self.cpu, extra)


@dataclass(frozen=True, slots=True)
class Target:
    """What is told: a figure of ours, or its ratio to a baseline's; with a bound, what must be reached."""

    figure: str
    op: Literal["<=", ">=", ""] = ""
    """Empty: the figure is told and not judged."""
    bound: float = 0.0
    baseline: str | None = None
    """None takes our own figure, in its unit."""

    def reached(self, value: float) -> bool:
        """True when the median is within the bound, or there is none."""
        match self.op:
            case "<=":
                return value <= self.bound
            case ">=":
                return value >= self.bound
            case _:
                return True


Runner = Callable[[], Awaitable[Sample]]


@dataclass(frozen=True, slots=True)
class Case:
    """Something of ours, what it is held against, and what it must reach."""

    name: str
    what: str
    ours: Runner
    baselines: Mapping[str, Runner] = field(default_factory=dict)
    targets: Sequence[Target] = ()
    rounds: int | None = None
    """At most so many rounds, and none that is not counted: for what takes long by itself."""


@dataclass(slots=True)
class Result:
    """The samples of a case, ``ours`` and each baseline by name, in rounds."""

    case: Case
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    skipped: str | None = None
    """Why it was not run."""
    failed: bool = False
    """It ended with an error, which is in ``skipped``."""

    def figures(self, who: str, figure: str) -> list[float]:
        """One figure of each round."""
        return [sample.figure(figure) for sample in self.samples[who]]

    def values(self, target: Target) -> list[float]:
        """What a target judges, round by round."""
        ours = self.figures("ours", target.figure)
        if target.baseline is None:
            return ours
        theirs = self.figures(target.baseline, target.figure)
        return [mine / other for mine, other in zip(ours, theirs, strict=True)]

    def median(self, target: Target) -> float:
        """The median of ``values``."""
        return statistics.median(self.values(target))


async def run(case: Case, rounds: int, *, warm: bool = True) -> Result:
    """Run ours and each baseline in turn, ``rounds`` times, after one round that is not counted."""
    result = Result(case)
    runners = {"ours": case.ours, **case.baselines}
    if case.rounds is not None:
        rounds, warm = min(rounds, case.rounds), False
    try:
        for counted in [False] * warm + [True] * rounds:
            for who, runner in runners.items():
                sample = await runner()
                if counted:
                    result.samples.setdefault(who, []).append(sample)
    except SkippedError as reason:
        return Result(case, skipped=str(reason))
    return result
