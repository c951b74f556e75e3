"""The command line of ``scripts/mutation``."""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from scripts.mutants.changes import Mutant, mutants_of
from scripts.mutants.running import KILLED, SURVIVED, UNREACHED, Job, forked, run_cold, run_warm

_LIFECYCLE = ("tests/lifecycle",)
_JOURNAL = ("tests/journal/test_codec.py", "tests/journal/test_codec_bytes.py")
_OTHER = {"publisher/outbox.py": ("tests/publisher/test_outbox.py",)}


def _tests(path: Path) -> tuple[str, ...]:
    if path.as_posix() in _OTHER:
        return _OTHER[path.as_posix()]
    return _JOURNAL if "journal" in path.parts else _LIFECYCLE


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _notes(folder: Path, path: Path) -> Path:
    return folder / (path.as_posix().replace("/", ".") + ".jsonl")


def _known(notes: Path) -> dict[str, str]:
    """What earlier runs said, the last word of each mutant; what was not killed is run again."""
    if not notes.exists():
        return {}
    lines = (json.loads(line) for line in notes.read_text().splitlines())
    return {line["key"]: line["result"] for line in lines}


def _run(folder: Path, path: Path) -> None:
    notes = _notes(folder, path)
    known = _known(notes)
    waiting = tuple(mutant for mutant in mutants_of(path.read_text()) if known.get(mutant.key) != KILLED)
    job = Job(path, waiting, _tests(path))
    cold = [mutant for mutant in waiting if mutant.function is None]

    def told(mutant: Mutant, result: str) -> None:
        line = {"key": mutant.key, "line": mutant.first, "result": result}
        with notes.open("a") as out:
            out.write(json.dumps(line) + "\n")

    for mutant in cold:
        told(mutant, run_cold(job, mutant))
    warm = Job(path, tuple(mutant for mutant in waiting if mutant.function), job.tests)
    if warm.mutants:
        code = forked(lambda: SURVIVED if run_warm(warm, told) == 0 else "failed", limit=3600)
        if code != SURVIVED:
            _say(f"{path}: the tests cannot be run, see: python -m pytest {' '.join(job.tests)}")


def _report(folder: Path, paths: list[Path]) -> None:
    for path in paths:
        known = _known(_notes(folder, path))
        mutants = mutants_of(path.read_text())
        counts = Counter(known.get(mutant.key, "not run") for mutant in mutants)
        _say(f"{path}: {len(mutants)} {dict(counts)}")
        for mutant in mutants:
            if known.get(mutant.key) in (SURVIVED, UNREACHED):
                _say(f"  {mutant.first}: {known[mutant.key]} {mutant.key}")


def main() -> None:
    """List, run or report."""
    parser = argparse.ArgumentParser(prog="scripts/mutation", description=__doc__)
    parser.add_argument("what", choices=("list", "run", "report"))
    parser.add_argument("paths", nargs="+", type=Path)
    scratch = Path(tempfile.gettempdir()) / f"kamaji-events-mutation-{os.getuid()}"
    parser.add_argument("--notes", type=Path, default=scratch, help="the folder of the results")
    given = parser.parse_args()
    given.notes.mkdir(parents=True, exist_ok=True)
    if given.what == "list":
        for path in given.paths:
            for mutant in mutants_of(path.read_text()):
                _say(f"{path}:{mutant.first}: {mutant.key}")
        return
    for path in given.paths:
        if given.what == "run":
            _run(given.notes, path)
        _report(given.notes, [path])


if __name__ == "__main__":
    main()
