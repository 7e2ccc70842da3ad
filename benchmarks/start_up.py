"""How long the wizard takes to start: ``triton-wizard --help`` and ``import wizard``.

Usage: ``.venv/bin/python benchmarks/start_up.py [RUNS]``. Each figure is the median of RUNS (15) runs, taken in turn
with a bare ``python -c pass`` of the same interpreter, so that a slow or busy machine shows in the last column as well.
Set goals: 150 ms and 60 ms on 2 cores. Exit status 1 if one is missed.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

BARE = [sys.executable, "-c", "pass"]
MEASURED: dict[str, tuple[list[str], float]] = {
    "triton-wizard --help": ([str(Path(sys.executable).parent / "triton-wizard"), "--help"], 0.150),
    "import wizard": ([sys.executable, "-c", "import wizard"], 0.060),
}
"""What is measured → its command and its goal in seconds."""


def seconds(command: list[str]) -> float:
    """Wall-clock time of one run."""
    start = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> int:
    """Measure and print; 1 if a goal is missed."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    commands = [BARE, *(command for command, _ in MEASURED.values())]
    for command in commands:
        seconds(command)  # fills the byte-code and file caches
    times = [[seconds(command) for command in commands] for _ in range(runs)]
    bare, *medians = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{'':<24}{'median':>10}{'goal':>10}{'bare python':>14}{'ratio':>8}")
    missed = 0
    for (name, (_, goal)), median in zip(MEASURED.items(), medians, strict=True):
        missed += median > goal
        print(f"{name:<24}{median * 1e3:>7.0f} ms{goal * 1e3:>7.0f} ms{bare * 1e3:>11.0f} ms{median / bare:>8.1f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
