"""Seconds from accepting the plan to the first words of the served model, in four situations.

    python benchmarks/first_token.py [--model demo] [--repeat 3]

*cold*: nothing is there, and neither pip nor uv may use a cache; *warm*: nothing is there but the package cache;
*again*: everything was made, the server is stopped; *running*: the server runs. Measured from the start of the process
``triton-wizard up MODEL --yes --json``, so the wizard's own start-up, probe and advice count too, to the first line of
the answer. Wanted on two cores: cold ≤ 90 s, warm ≤ 30 s, again ≤ 6 s.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NO_CACHE = {"PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1"}


def wizard(workspace: Path, *arguments: str) -> list[str]:
    command, *rest = arguments
    return [sys.executable, "-m", "wizard", command, "--workspace", str(workspace), *rest]


def first_words(workspace: Path, model: str, extra: dict[str, str]) -> float:
    """Seconds to the first output of the step that asks the first question."""
    began = time.perf_counter()
    process = subprocess.Popen(
        wizard(workspace, "up", model, "--yes", "--json", "--offline"),
        env={**os.environ, **extra},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    seconds = None
    for line in process.stdout:
        event = json.loads(line)
        if seconds is None and event.get("step") == "question" and event["event"] == "Output":
            seconds = time.perf_counter() - began
    if process.wait() or seconds is None:
        raise SystemExit(f"the journey failed with status {process.returncode}")
    return seconds


def down(workspace: Path) -> None:
    subprocess.run(wizard(workspace, "down"), check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", default="demo")
    options.add_argument("--repeat", type=int, default=3)
    given = options.parse_args()
    figures: dict[str, list[float]] = {"cold": [], "warm": [], "again": [], "running": []}
    for _ in range(given.repeat):
        workspace = Path(tempfile.mkdtemp(prefix="first-token-"))
        try:
            for name, extra in (("cold", NO_CACHE), ("warm", {})):
                shutil.rmtree(workspace, ignore_errors=True)
                figures[name].append(first_words(workspace, given.model, extra))
                down(workspace)
            figures["again"].append(first_words(workspace, given.model, {}))
            figures["running"].append(first_words(workspace, given.model, {}))
            down(workspace)
        finally:
            shutil.rmtree(workspace, ignore_errors=True)
    installer = "uv" if shutil.which("uv") else "pip"
    print(f"{'situation':10} {'median s':>9} {'least s':>9} {'most s':>9}   ({given.repeat} runs, {installer})")
    for name, seconds in figures.items():
        print(f"{name:10} {statistics.median(seconds):9.2f} {min(seconds):9.2f} {max(seconds):9.2f}")


if __name__ == "__main__":
    main()
