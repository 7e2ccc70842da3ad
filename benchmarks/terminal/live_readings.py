"""How long a live reading of this machine takes: ``python benchmarks/terminal/live_readings.py [READINGS]``.

The machine screen takes one every second in a thread of its own.
"""

from __future__ import annotations

import statistics
import sys
import time

from wizard.probe.live import Monitor


def main() -> int:
    monitor, times = Monitor(), []
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 50):
        began = time.perf_counter()
        reading = monitor.read()
        times.append((time.perf_counter() - began) * 1000)
    monitor.close()
    first, *others = times
    others.sort()
    summary = f"the first {first:.2f} ms, the others {statistics.median(others):.2f} ms in the median"
    print(f"{len(reading.gpus)} GPUs, {len(times)} readings: {summary}, {others[-1]:.2f} ms at most")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
