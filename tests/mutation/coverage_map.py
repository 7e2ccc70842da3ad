"""Which tests execute which statement, and what processor time they take."""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = {
    "advise": ("tests/advise",),
    "plan": ("tests/plan", "tests/export"),
    "run": ("tests/run",),
    "serve": ("tests/serve",),
    "repository": ("tests/repository",),
}
"""Package of ``wizard`` → its tests. Those of the interfaces and with real servers execute it too, and take minutes."""


@dataclass(frozen=True, slots=True)
class CoverageMap:
    """What was executed.

    Attributes:
        lines: Module → line → tests.
        seconds: Test → seconds of processor time: the same on a machine that does other things as well.
        code: `fingerprint` of the code and the tests.
    """

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    code: str = ""

    def tests(self, module: str, span: range | None, limit: float) -> tuple[list[str], bool]:
        """The tests that execute a line in ``span`` of ``module``, for ``limit`` seconds; and whether these are all.

        Golden files come first, for half of it: they show every figure. Then the fastest. None stands for what is
        executed on import: every test that executes any function of the module will do.
        """
        lines = self.lines.get(module, {})
        names = {name for line, tests in lines.items() if span is None or line in span for name in tests}
        by_seconds = sorted(names, key=lambda name: (self.seconds.get(name, 0.0), name))
        golden = self._within([name for name in by_seconds if "/test_golden_" in name], limit / 2)
        rest = limit - self.together(golden)
        chosen = [*golden, *self._within([name for name in by_seconds if name not in golden], rest)] or by_seconds[:1]
        return chosen, len(chosen) == len(names)

    def together(self, tests: Sequence[str]) -> float:
        """Seconds of all ``tests``."""
        return sum(self.seconds.get(name, 0.0) for name in tests)

    def _within(self, names: list[str], limit: float) -> list[str]:
        """The first of ``names`` that take ``limit`` seconds together."""
        totals = itertools.accumulate(self.seconds.get(name, 0.0) for name in names)
        return [name for name, total in zip(names, totals, strict=True) if total <= limit]


def span(tree: ast.Module, line: int) -> range | None:
    """Lines of the innermost statement of a function around ``line``; None on the level of the module or of a class."""
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    statements = (node for function in functions for first in function.body for node in ast.walk(first))
    lines = (range(node.lineno, (node.end_lineno or line) + 1) for node in statements if isinstance(node, ast.stmt))
    return min((each for each in lines if line in each), key=len, default=None)


def fingerprint(root: Path, packages: Sequence[str]) -> str:
    """Of ``packages`` and their tests: in other code, lines are elsewhere, and tests that are gone fail."""
    folders = [f"wizard/{package}" for package in packages] + [path for package in packages for path in TESTS[package]]
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def measure(root: Path, packages: Sequence[str]) -> CoverageMap:
    """Run the tests of ``packages`` once in the tree ``root``.

    Raises:
        SystemExit: If one of them fails: then no mutant can be told from the code as it is.
    """
    import coverage

    with tempfile.TemporaryDirectory() as folder:
        data, durations = Path(folder, "coverage"), Path(folder, "durations.json")
        sources = ",".join(f"wizard/{package}/*" for package in packages)
        targets = [path for package in packages for path in TESTS[package]]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "coverage", "run", f"--data-file={data}", f"--include={sources}"),
                *("-m", "pytest", "-q", "-n", "0", "-p", "tests.mutation.contexts"),
                *("--hypothesis-profile=mutation", *targets),
            ],
            cwd=root,
            env={**os.environ, "MUTATION_DURATIONS": str(durations)},
            check=False,
        )
        if done.returncode:
            raise SystemExit("The tests fail without any mutant.")
        measured = coverage.CoverageData(str(data))
        measured.read()
        lines = {
            str(Path(path).relative_to(root)): {
                line: [name for name in names if name]
                for line, names in measured.contexts_by_lineno(path).items()
                if any(names)
            }
            for path in measured.measured_files()
        }
        seconds = json.loads(durations.read_text(encoding="utf-8"))
        return CoverageMap(lines, seconds, fingerprint(root, packages))
