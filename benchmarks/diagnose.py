"""Lines per second in which `triton-wizard diagnose` searches a log for all known failures.

    python benchmarks/diagnose.py [LOG ...] [--lines 500000]

Three logs: ordinary lines of successful runs, whole logs of servers that failed, and one known failure on each line.
Counted in processor time, so other programs matter less. Wanted: 100,000 lines/s; the ratio to that is printed, too.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from wizard.serve.causes import Scan

TESTS = Path(__file__).resolve().parent.parent / "tests"
WANTED = 100_000
PIECE = 1 << 18


def measured(log: bytes) -> float:
    """Lines per second."""
    scan = Scan()
    began = time.process_time()
    for start in range(0, len(log), PIECE):
        scan.feed(log[start : start + PIECE])
    scan.findings()
    return log.count(b"\n") / (time.process_time() - began)


def repeated(paths: list[Path], lines: int) -> bytes:
    """The files, one after another, until there are so many lines."""
    log = b"".join(path.read_bytes().rstrip(b"\n") + b"\n" for path in paths)
    return log * (lines // log.count(b"\n") + 1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("logs", nargs="*", type=Path)
    options.add_argument("--lines", type=int, default=500_000)
    given = options.parse_args()
    ordinary = [TESTS / "run" / "failures" / "ordinary.log", *sorted((TESTS / "cases" / "engine-logs").glob("*.log"))]
    failed = b"ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.\n"
    logs = {
        "ordinary": repeated(ordinary, given.lines),
        "failed servers": repeated(sorted((TESTS / "cases" / "triton-logs").glob("*.log")), given.lines),
        "a failure per line": failed * given.lines,
        **{str(path): repeated([path], given.lines) for path in given.logs},
    }
    for name, log in logs.items():
        speed = measured(log)
        lines = log.count(b"\n")
        print(f"{name}: {speed:,.0f} lines/s, {len(log) / lines:.0f} bytes each; {speed / WANTED:.1f} × {WANTED:,}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - sum(map(len, logs.values())) / (1 << 20)
    print(f"peak memory without the logs: {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
