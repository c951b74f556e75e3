"""``python -m bench``: run the cases and print the table.

Starts its own RabbitMQ where a case needs one. ``--quick`` runs each case once, small, so that CI keeps it from
rotting; the figures of such a run mean nothing.
"""

import argparse
import asyncio
import gc
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import orjson

import bench.cases
from bench.measure import Case, Result, run
from bench.report import as_json, as_table, machine

__all__ = ["main"]


def _modules() -> list[str]:
    return sorted(module.name for module in iter_modules(bench.cases.__path__))


def _cases(names: list[str], *, quick: bool) -> list[Case]:
    found: list[Case] = []
    for name in names:
        found += import_module(f"bench.cases.{name}").cases(quick=quick)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"which of {', '.join(_modules())}; all by default")
    parser.add_argument("--quick", action="store_true", help="once and small: does it still run?")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case, after one that is not counted")
    parser.add_argument("--json", type=Path, help="write every sample to this file")
    return parser.parse_args()


async def _run(chosen: list[Case], rounds: int, *, warm: bool) -> list[Result]:
    results: list[Result] = []
    for case in chosen:
        print(f"{case.name}: {case.what}", file=sys.stderr, flush=True)
        results.append(await run(case, rounds, warm=warm))
        gc.collect()
    return results


def main() -> None:
    """Run what was asked for."""
    asked = _arguments()
    chosen = _cases(asked.cases or _modules(), quick=asked.quick)
    results = asyncio.run(_run(chosen, 1 if asked.quick else asked.rounds, warm=not asked.quick))
    print(as_table(results))
    print(f"\n{machine()}")
    if asked.json:
        asked.json.write_bytes(orjson.dumps(as_json(results), option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
