"""docs/performance.md with its plot and its samples, written from one run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.measure import Result
from bench.plot import as_svg
from bench.report import as_json, as_table, machine

__all__ = ["write_page"]

_DOCS = Path(__file__).parent.parent / "docs"
_NOTES = Path(__file__).parent / "notes.md"

_HEAD = """# Performance

What each part costs, against a limit measured in the same run. `python -m bench --publish` (or `scripts/bench
--publish`) writes this page; `python -m bench --quick` only shows that everything still runs.

Ours and its baselines run in turn, several times; a ratio is made of two runs that were neighbours, and the median of
the ratios is what is judged. Single times say little on a shared machine, ratios say more. `cost` is CPU
microseconds for each unit in the process that is judged, `rate` units a second; every figure is told with its
smallest and largest value.
"""


def _units(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        yield f"- **{result.case.name}**: {result.case.what}."


def _facts(facts: dict[str, Any]) -> Iterator[str]:
    for name, value in facts.items():
        said = ", ".join(f"{key} {text}" for key, text in value.items()) if isinstance(value, dict) else value
        yield f"- {name}: {said}"


def write_page(results: Sequence[Result]) -> None:
    """Write ``performance.md``, ``performance.svg`` and ``performance.json`` into docs/."""
    facts = machine()
    parts = [
        _HEAD,
        "![How much of its bound each figure uses](performance.svg)\n",
        "## Figures\n",
        as_table(results) + "\n",
        "Samples: [performance.json](performance.json). What the cases are:\n",
        "\n".join(_units(results)) + "\n",
        "## Measured on\n",
        "\n".join(_facts(facts)) + "\n",
        _NOTES.read_text(encoding="utf-8"),
    ]
    (_DOCS / "performance.md").write_text("\n".join(parts), encoding="utf-8")
    (_DOCS / "performance.svg").write_text(as_svg(results), encoding="utf-8")
    (_DOCS / "performance.json").write_bytes(orjson.dumps(as_json(results), option=orjson.OPT_INDENT_2) + b"\n")
