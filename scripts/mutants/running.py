"""Run mutants: each in a process of its own, forked from one that has imported and collected everything.

A fault in a function goes into that function as it was imported, and only the tests that run its statement are run,
the quickest first. A fault in what runs at import time goes in before anything of the project is imported.
"""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from types import FrameType
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from scripts.mutants.changes import Mutant, apply
from scripts.mutants.live import Faulty, functions_of, module_name, replace

__all__ = ["FAILED", "KILLED", "SURVIVED", "UNREACHED", "Job", "forked", "run_cold", "run_warm"]

KILLED, SURVIVED, UNREACHED, FAILED = "killed", "survived", "unreached", "failed"
_LIMIT = 12.0
"""Seconds for one mutant: by then it runs in circles, which a test with a time limit would tell."""
_OPTIONS = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "-W", "ignore"]
_EXIT = {KILLED: 1, SURVIVED: 0, UNREACHED: 3, FAILED: 4}


@dataclass(frozen=True)
class Job:
    """The mutants of one file that are still to be run, and the tests that may notice."""

    path: Path
    mutants: tuple[Mutant, ...]
    tests: tuple[str, ...]


def _settle() -> None:
    """Few examples, the same each time."""
    quick = hypothesis.settings(
        max_examples=30,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.register_profile("mutants", quick)
    hypothesis.settings.load_profile("mutants")


def _mute() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)


def forked(work: Callable[[], str], limit: float = _LIMIT) -> str:
    """What some work says in a process of its own; one that does not end within the limit was noticed."""
    child = os.fork()
    if child == 0:
        code = _EXIT[FAILED]
        try:
            _mute()
            code = _EXIT[work()]
        finally:
            os._exit(code)
    until = time.monotonic() + limit
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return next((word for word, number in _EXIT.items() if number == code), KILLED)
        time.sleep(0.005)
    os.kill(child, SIGKILL)
    os.waitpid(child, 0)
    return KILLED


def _passes(item: pytest.Item) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def run_cold(job: Job, mutant: Mutant) -> str:
    """A fault of import time: a whole run of pytest, imports and all."""

    def work() -> str:
        _settle()
        Faulty(module_name(job.path), job.path, apply(job.path.read_text(), mutant)).install()
        return KILLED if pytest.main([*_OPTIONS, *job.tests]) else SURVIVED

    return forked(work)


def run_warm(job: Job, told: Callable[[Mutant, str], None]) -> int:
    """Faults in functions: the tests are collected once."""
    _settle()
    return int(pytest.main([*_OPTIONS, *job.tests], plugins=[_Loop(job, told)]))


@dataclass
class _Loop:
    """Stands in for pytest's own loop over the tests."""

    job: Job
    told: Callable[[Mutant, str], None]
    lines: dict[int, list[pytest.Item]] = field(default_factory=lambda: defaultdict(list))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Learn what each test runs, then run the mutants."""
        module = sys.modules[module_name(self.job.path)]
        capture: Any = session.config.pluginmanager.getplugin("capturemanager")
        self._learn(session.items, str(module.__file__))
        functions = functions_of(module)
        source = self.job.path.read_text()
        for mutant in self.job.mutants:
            function = functions.get(mutant.function) if mutant.function else None
            tests = self._tests(mutant)

            def work(mutant: Mutant = mutant, function: Any = function, tests: Any = tests) -> str:
                if function is None or not replace(function, apply(source, mutant)):
                    return FAILED
                if not tests:
                    return UNREACHED
                return SURVIVED if all(map(_passes, tests)) else KILLED

            result = forked(work)
            with capture.global_and_fixture_disabled():
                self.told(mutant, run_cold(self.job, mutant) if result == FAILED else result)
        return True

    def _tests(self, mutant: Mutant) -> list[pytest.Item]:
        found: dict[pytest.Item, None] = {}
        for line in range(mutant.first, mutant.last + 1):
            found |= dict.fromkeys(self.lines.get(line, ()))
        return sorted(found, key=lambda item: self.order[item])

    def _learn(self, items: Iterable[pytest.Item], filename: str) -> None:
        took: dict[pytest.Item, float] = {}
        for item in items:
            began = time.perf_counter()
            lines: set[int] = set()
            with _Traced(filename, lines):
                passed = _passes(item)
            took[item] = time.perf_counter() - began
            if not passed:
                raise pytest.UsageError(f"{item.nodeid} fails without any fault")
            for line in lines:
                self.lines[line].append(item)
        self.order = took


class _Traced:
    """Notes the lines of one file that are run."""

    def __init__(self, filename: str, lines: set[int]) -> None:
        self._filename = filename
        self._lines = lines

    def __enter__(self) -> None:
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        if frame.f_code.co_filename != self._filename:
            return None
        self._lines.add(frame.f_lineno)
        return self._line

    def _line(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        self._lines.add(frame.f_lineno)
        return self._line
