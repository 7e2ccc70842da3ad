"""How long the list of models takes without the Hub: ``.venv/bin/python benchmarks/advice/list_time.py``.

Prints the median of five lists for each machine, with warm caches as in a running wizard, and of the ranking alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

from wizard.advise.best import estimates
from wizard.catalog.models import curated
from wizard.plan.offers import suggestions
from wizard.probe.shorthand import host

MACHINES = ("cpu", "1xT4", "1xA10", "2x4090", "1xH100", "8xH100")
ROUNDS = 5


def median_ms(work: Callable[[], object]) -> float:
    """Median milliseconds of `ROUNDS` runs after a first one."""
    work()
    took: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1e3)
    return statistics.median(took)


def main() -> None:
    """Measure and print."""
    for name in MACHINES:
        machine = host(name)
        ranked = median_ms(partial(lambda here: estimates(here, curated()), machine))
        listed = median_ms(partial(suggestions, machine, None, offline=False, ask=False))
        print(f"{name}: ranking {ranked:.1f} ms, list {listed:.0f} ms")


if __name__ == "__main__":
    main()
