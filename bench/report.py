"""The report: a table of ratios with their spread, the machine, the versions; as text, Markdown and JSON."""

import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.measure import Result, Target

__all__ = ["as_json", "as_table", "machine", "rows"]

_LIBRARIES = ("aio-pika", "aiormq", "aiohttp", "httpx", "uvloop", "kubernetes", "msgspec", "orjson", "pamqp")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "rabbitmq": _rabbitmq(),
        "libraries": dict(_versions()),
    }


def _versions() -> Iterator[tuple[str, str]]:
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def _rabbitmq() -> str:
    """The version of the node that the bench starts, by its folder's name: asking the program takes a second."""
    found = sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*"))
    return found[-1].name.partition("-")[2] if found else "?"


def _cpu() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    except OSError:
        return platform.processor() or "?"


def _named(target: Target) -> str:
    return f"{target.figure} / {target.baseline}'s" if target.baseline else target.figure


def _judged(result: Result, target: Target) -> dict[str, Any]:
    values = result.values(target)
    median = statistics.median(values)
    return {
        "figure": _named(target),
        "op": target.op,
        "bound": target.bound if target.op else None,
        "values": values,
        "median": median,
        "reached": target.reached(median) if target.op else None,
    }


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """Each case with its figures and every sample, and what it was measured on."""
    return {"machine": machine(), "cases": {result.case.name: _case(result) for result in results}}


def _case(result: Result) -> dict[str, Any]:
    samples = {
        who: [{"units": one.units, "seconds": one.seconds, "cpu": one.cpu, **one.extra} for one in several]
        for who, several in result.samples.items()
    }
    targets = () if result.skipped is not None else result.case.targets
    return {
        "what": result.case.what,
        "skipped": result.skipped,
        "measured": {"date": datetime.now(UTC).date().isoformat(), "load": round(os.getloadavg()[0], 1)},
        "figures": [_judged(result, target) for target in targets],
        "samples": samples,
    }


def rows(cases: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The table's cells of ``as_json``'s cases, heads first."""
    yield "case", "figure", "median", "min - max", "must be", ""
    for name, case in cases.items():
        if case["skipped"] is not None:
            yield name, "skipped", "", "", "", case["skipped"]
        for told in case["figures"]:
            yield (
                name,
                told["figure"],
                _short(told["median"]),
                f"{_short(min(told['values']))} - {_short(max(told['values']))}",
                f"{told['op']} {told['bound']:g}" if told["op"] else "",
                {None: "", True: "reached", False: "NOT REACHED"}[told["reached"]],
            )


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def as_table(cases: Mapping[str, Any]) -> str:
    """A Markdown table that also reads well on a terminal."""
    cells = list(rows(cases))
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
