"""The report: a table of ratios with their spread, the machine, the versions; as text, Markdown and JSON."""

import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.measure import Result, Target

__all__ = ["as_json", "as_table", "machine"]

_LIBRARIES = ("aio-pika", "aiormq", "aiohttp", "httpx", "kubernetes", "msgspec", "orjson", "pamqp")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def _cpu() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    except OSError:
        return platform.processor() or "?"


def _named(target: Target) -> str:
    return f"{target.figure} / {target.baseline}'s" if target.baseline else target.figure


def _rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    yield "case", "figure", "median", "min - max", "must be", ""
    for result in results:
        for target in result.case.targets:
            values = result.values(target)
            verdict = "reached" if target.reached(statistics.median(values)) else "NOT REACHED"
            yield (
                result.case.name,
                _named(target),
                _short(statistics.median(values)),
                f"{_short(min(values))} - {_short(max(values))}",
                f"{target.op} {target.bound:g}",
                verdict,
            )


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def as_table(results: Sequence[Result]) -> str:
    """A Markdown table that also reads well on a terminal."""
    rows = list(_rows(results))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
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
                "samples": {
                    who: [{"units": s.units, "seconds": s.seconds, "cpu": s.cpu, **s.extra} for s in samples]
                    for who, samples in result.samples.items()
                },
                "targets": [
                    {
                        "figure": _named(target),
                        "op": target.op,
                        "bound": target.bound,
                        "median": result.median(target),
                        "reached": target.reached(result.median(target)),
                    }
                    for target in result.case.targets
                ],
            }
            for result in results
        },
    }
