"""``python -m bench``: run the cases and print the table.

Starts its own RabbitMQ where a case needs one. ``--quick`` runs each case once, small, so that CI keeps it from
rotting; the figures of such a run mean nothing. ``--publish`` writes docs/performance.md, its plot and its samples.
"""

import argparse
import asyncio
import contextlib
import gc
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import orjson

import bench.cases
from bench.ground import Ground
from bench.measure import Case, Result, SkippedError, run
from bench.page import write_page
from bench.report import as_json, as_table, machine

__all__ = ["main"]

_AT_ONCE = 5


def _modules() -> list[str]:
    return sorted(module.name for module in iter_modules(bench.cases.__path__))


def _cases(name: str, ground: Ground) -> list[Case]:
    found: list[Case] = import_module(f"bench.cases.{name}").cases(ground)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"which of {', '.join(_modules())}; all by default")
    parser.add_argument("--quick", action="store_true", help="once and small: does it still run?")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case, after one that is not counted")
    parser.add_argument("--json", type=Path, help="write every sample to this file")
    parser.add_argument("--publish", action="store_true", help="write docs/performance.md, .svg and .json")
    return parser.parse_args()


async def _run(asked: argparse.Namespace) -> list[Result]:
    names = asked.cases or _modules()
    async with Ground(quick=asked.quick) as ground:
        if asked.quick:
            return await _all_at_once(names, ground)
        results: list[Result] = []
        for name in names:
            results += [await _timed(case, asked.rounds, warm=True) for case in _cases(name, ground)]
            await ground.tidy()
        return results


async def _all_at_once(names: list[str], ground: Ground) -> list[Result]:
    """A quick run's figures mean nothing, so its modules need not wait for each other."""
    with contextlib.suppress(SkippedError):
        await ground.url()
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str) -> list[Result]:
        async with turns, Ground(quick=True, beside=ground) as own:
            return [await _timed(case, 1, warm=False) for case in _cases(name, own)]

    return [result for results in await asyncio.gather(*map(one, names)) for result in results]


async def _timed(case: Case, rounds: int, *, warm: bool) -> Result:
    began = time.perf_counter()
    print(f"{case.name}: {case.what}", file=sys.stderr, flush=True)
    gc.collect()
    try:
        result = await run(case, rounds, warm=warm)
    except Exception as error:  # noqa: BLE001 - one broken case does not cost an hour of others
        traceback.print_exc()
        result = Result(case, skipped=f"FAILED: {error!r}", failed=True)
    print(f"    {result.skipped or f'{time.perf_counter() - began:.1f} s'}", file=sys.stderr, flush=True)
    return result


def main() -> None:
    """Run what was asked for."""
    asked = _arguments()
    results = asyncio.run(_run(asked))
    print(as_table(as_json(results)["cases"]))
    print(f"\n{machine()}")
    if asked.json:
        asked.json.write_bytes(orjson.dumps(as_json(results), option=orjson.OPT_INDENT_2))
    if asked.publish:
        write_page(results)
    if any(result.failed for result in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
