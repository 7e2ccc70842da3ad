"""``python -m tests.mutation``: put faults into the code and see which of them no test notices."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from tests.mutation import mutants
from tests.mutation.coverage_map import TESTS, CoverageMap, fingerprint, measure
from tests.mutation.mutants import Mutant
from wizard.kernel.values import from_json, to_json

ROOT = Path(__file__).resolve().parents[2]
Outcome = Literal["killed", "timeout", "survived", "unjudged", "uncovered"]
NOTICED: tuple[Outcome, ...] = ("killed", "timeout")
WAITING = 10
"""So many times its processor time a run may last: longer, it waits for what never comes."""
LEFT = shutil.ignore_patterns(".git", ".venv", "__pycache__", "*.egg-info", ".mypy_cache", ".ruff_cache", "dist")


@dataclass(frozen=True, slots=True)
class Result:
    """How one mutant ended, after how many seconds."""

    module: str
    line: int
    operator: str
    before: str
    after: str
    outcome: Outcome
    seconds: float

    @property
    def package(self) -> str:
        """The package of ``wizard``."""
        return Path(self.module).parts[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; 1 if fewer mutants were noticed than asked for."""
    options = parser().parse_args(arguments)
    packages = options.package or sorted({Path(module).parts[1] for module in options.module}) or [*TESTS]
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copies = [Path(folder, str(number)) for number in range(options.workers)]
        for copy in copies:
            shutil.copytree(ROOT, copy, ignore=LEFT, symlinks=True)
        known = coverage_map(options.map, copies[0], packages)
        modules = options.module or modules_of(packages)
        places = [place for module in modules for place in mutants.places(ROOT, module)]
        random.Random(options.seed).shuffle(places)
        made = (mutants.mutant(ROOT, place) for place in places)
        chosen = list(itertools.islice(filter(None, made), options.sample or None))
        print(f"{len(chosen)} of {len(places)} places in {len(modules)} modules, seed {options.seed}", flush=True)
        results = run(chosen, copies, known, options.seconds)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1), encoding="utf-8")
    print(report(results))
    return int(any(share(group) < options.least for group in by_package(results).values()))


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    made.add_argument("--package", action="append", choices=[*TESTS], help="of wizard/; may be given more than once")
    made.add_argument("--module", action="append", default=[], help="such as wizard/run/journal.py; may be repeated")
    made.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; 0: all")
    made.add_argument("--seed", type=int, default=0, help="of the sample")
    made.add_argument("--workers", type=int, default=1, help="mutants at the same time, each in a copy of the tree")
    made.add_argument("--seconds", type=float, default=60.0, help="of processor time for the tests of one mutant")
    made.add_argument("--least", type=float, default=0.0, help="percent to be noticed in each package")
    made.add_argument(
        "--map", type=Path, help="keep what the tests execute in this file, and use it while they are the same"
    )
    made.add_argument("--json", type=Path, help="write every result to this file")
    return made


def coverage_map(kept: Path | None, copy: Path, packages: Sequence[str]) -> CoverageMap:
    """What the tests of ``packages`` execute, from the file ``kept`` or by running them."""
    if kept and kept.exists():
        known = from_json(CoverageMap, kept.read_text(encoding="utf-8"), where=str(kept))
        if known.code == fingerprint(copy, packages):
            return known
    known = measure(copy, packages)
    if kept:
        kept.write_text(to_json(known), encoding="utf-8")
    return known


def modules_of(packages: Sequence[str]) -> list[str]:
    """All modules of the packages."""
    return sorted(
        str(path.relative_to(ROOT)) for package in packages for path in (ROOT / "wizard" / package).rglob("*.py")
    )


def run(chosen: Sequence[Mutant], copies: Sequence[Path], known: CoverageMap, seconds: float) -> list[Result]:
    """Try every mutant in a copy of the tree that is free."""
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def result_of(mutant: Mutant) -> Result:
        began = time.monotonic()
        tests, all_of_them = known.tests(mutant.place.module, mutant.statement, seconds)
        copy = free.get()
        try:
            outcome = tried(mutant, copy, tests, 20 + 4 * known.together(tests)) if tests else "uncovered"
        finally:
            free.put(copy)
        if outcome == "survived" and not all_of_them:
            outcome = "unjudged"
        place = mutant.place
        fields = (place.module, place.line, place.operator, mutant.before, mutant.after)
        result = Result(*fields, outcome, round(time.monotonic() - began, 1))
        print(line(result), flush=True)
        return result

    with ThreadPoolExecutor(len(copies)) as pool:
        return list(pool.map(result_of, chosen))


def tried(mutant: Mutant, copy: Path, tests: Sequence[str], limit: float) -> Outcome:
    """Run ``tests`` with the mutant in ``copy``; the module is put back afterwards.

    Each process may take ``limit`` seconds of processor time, as with mutmut; who takes more counts as noticed, as with
    cosmic-ray.
    """
    path = copy / mutant.place.module
    original = path.read_bytes()
    try:
        write(path, mutant.code.encode())
        process = subprocess.Popen(
            [
                *("sh", "-c", 'ulimit -S -t "$0" && exec "$@"', str(round(limit))),
                *(sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:rerunfailures"),
                *("-o", "addopts=-p no:cacheprovider", "--hypothesis-profile=mutation", *tests),
            ],
            cwd=copy,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            ended = process.wait(WAITING * limit)
            return "timeout" if ended == -signal.SIGXCPU else "killed" if ended else "survived"
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    finally:
        write(path, original)


def write(path: Path, code: bytes) -> None:
    """Write a module, and forget what was compiled of it: size and second may be the same as before."""
    path.write_bytes(code)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def by_package(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results of each package."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.package, []).append(result)
    return groups


def share(results: Sequence[Result]) -> float:
    """Percent of mutants that were noticed."""
    return 100 * sum(result.outcome in NOTICED for result in results) / len(results)


def line(result: Result) -> str:
    """One result for people."""
    place = f"{result.module}:{result.line}"
    return f"{result.outcome:9} {result.seconds:5.1f} s  {place}  {result.before}  →  {result.after}"


def report(results: Sequence[Result]) -> str:
    """What was noticed, for each package, and what was not."""
    outcomes: tuple[Outcome, ...] = ("killed", "timeout", "survived", "unjudged", "uncovered")
    rows = ["", f"{'package':12}{'mutants':>10}" + "".join(f"{outcome:>11}" for outcome in outcomes) + "  noticed"]
    for package, group in sorted(by_package(results).items()):
        counts = [sum(result.outcome == outcome for result in group) for outcome in outcomes]
        rows.append(f"{package:12}{len(group):10}" + "".join(f"{n:11}" for n in counts) + f"{share(group):7.1f} %")
    missed = [line(result) for result in results if result.outcome not in NOTICED]
    return "\n".join([*rows, "", *missed])


if __name__ == "__main__":
    sys.exit(main())
