"""docs/performance.md with its plot and its samples, written from one run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.measure import Result
from bench.plot import as_svg
from bench.report import as_json, as_table

__all__ = ["write_page"]

_DOCS = Path(__file__).parent.parent / "docs"
_NOTES = Path(__file__).parent / "notes.md"

_HEAD = """# Performance

What each part costs, against a limit measured in the same run. `scripts/bench --publish` writes this page, for some
cases too: those that were not run stay as they were. `scripts/bench --quick` only shows that everything still runs.

Ours and its baselines run in turn, several times; a ratio is made of two runs that were neighbours, and the median of
the ratios is what is judged. Single times say little on a shared machine, ratios say more. `cost` is CPU
microseconds for each unit in the process that is judged, `rate` units a second; every figure is told with its
smallest and largest value.
"""


def _units(cases: Mapping[str, Any]) -> Iterator[str]:
    for name, case in cases.items():
        when = case["measured"]
        yield f"- **{name}**: {case['what']}. Measured on {when['date']} at a load of {when['load']}."


def _facts(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in facts.items():
        said = ", ".join(f"{key} {text}" for key, text in value.items()) if isinstance(value, dict) else value
        yield f"- {name}: {said}"


def _merged(results: Sequence[Result]) -> dict[str, Any]:
    """These cases over those of the former page, in the order of their names."""
    file, told = _DOCS / "performance.json", as_json(results)
    former = orjson.loads(file.read_bytes())["cases"] if file.exists() else {}
    return {**told, "cases": dict(sorted((former | told["cases"]).items()))}


def write_page(results: Sequence[Result]) -> None:
    """Write ``performance.md``, ``.svg`` and ``.json`` into docs/; cases that were not run stay as they were."""
    told = _merged(results)
    parts = [
        _HEAD,
        "![How much of its bound each figure uses](performance.svg)\n",
        "## Figures\n",
        as_table(told["cases"]) + "\n",
        "Samples: [performance.json](performance.json). What the cases are:\n",
        "\n".join(_units(told["cases"])) + "\n",
        "## Measured on\n",
        "\n".join(_facts(told["machine"])) + "\n",
        _NOTES.read_text(encoding="utf-8"),
    ]
    (_DOCS / "performance.md").write_text("\n".join(parts), encoding="utf-8")
    (_DOCS / "performance.svg").write_text(as_svg(told["cases"]), encoding="utf-8")
    (_DOCS / "performance.json").write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n")
