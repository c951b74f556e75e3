"""The report: a table of ratios with their spread, the machine, the versions; as text, Markdown and JSON."""

import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from contextlib import suppress
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


def _verdict(target: Target, median: float) -> str:
    if not target.op:
        return ""
    return "reached" if target.reached(median) else "NOT REACHED"


def rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """The table's cells, heads first."""
    yield "case", "figure", "median", "min - max", "must be", ""
    for result in results:
        if result.skipped is not None:
            yield result.case.name, "skipped", "", "", "", result.skipped
            continue
        for target in result.case.targets:
            values = result.values(target)
            median = statistics.median(values)
            yield (
                result.case.name,
                _named(target),
                _short(median),
                f"{_short(min(values))} - {_short(max(values))}",
                f"{target.op} {target.bound:g}" if target.op else "",
                _verdict(target, median),
            )


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def as_table(results: Sequence[Result]) -> str:
    """A Markdown table that also reads well on a terminal."""
    cells = list(rows(results))
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """Every sample, for a plot or a later comparison."""
    return {
        "machine": machine(),
        "cases": {
            result.case.name: {
                "what": result.case.what,
                "skipped": result.skipped,
                "samples": {
                    who: [{"units": s.units, "seconds": s.seconds, "cpu": s.cpu, **s.extra} for s in samples]
                    for who, samples in result.samples.items()
                },
                "targets": [
                    {
                        "figure": _named(target),
                        "op": target.op,
                        "bound": target.bound if target.op else None,
                        "values": result.values(target),
                        "median": result.median(target),
                        "reached": target.reached(result.median(target)) if target.op else None,
                    }
                    for target in (() if result.skipped else result.case.targets)
                ],
            }
            for result in results
        },
    }
