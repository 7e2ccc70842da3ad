"""How long an answer takes once machine and model are known, and a what-if: one setup, fixed by constraints.

    python benchmarks/advice/answer_time.py

Medians of the repeats of each case of tests/cases/advice.yaml, then over the cases; nothing is kept between repeats but
what the wizard keeps itself. Bars: 50 ms for an answer and 5 ms for a what-if, each for the slowest case.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from judging import OURS

from wizard.advise.cases import cases
from wizard.advise.ranking import advise
from wizard.kernel.errors import UsageError

REPEATS = 7
BARS = {"answer": 50.0, "what-if": 5.0}


def median_ms(ask: Callable[[], object]) -> float:
    """Milliseconds that ``ask`` takes, the median of `REPEATS`."""
    taken = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(taken)


def main() -> int:
    """Print the table; the exit status says whether the bars are kept."""
    timings: dict[str, list[tuple[float, str]]] = {"answer": [], "what-if": []}
    for name, case in cases(OURS):
        if isinstance(case, UsageError):
            raise case
        host, facts, constraints = case
        timings["answer"].append((median_ms(lambda: advise(host, facts, constraints)), name))  # noqa: B023
        advice = advise(host, facts, constraints)
        if not advice.feasible:
            continue
        first = advice.choices[0]
        changed = replace(
            constraints,
            stack=first.stack,
            quantization=first.quantization,
            tp=first.tp,
            pp=first.pp,
            max_len=first.max_seq_len,
            users=first.max_batch_size,
        )
        timings["what-if"].append((median_ms(lambda: advise(host, facts, changed)), name))  # noqa: B023
    print("| question | cases | median ms | slowest ms | slowest case | bar ms |")
    print("|---|---|---|---|---|---|")
    for kind, times in timings.items():
        slowest, name = max(times)
        middle = statistics.median(ms for ms, _ in times)
        print(f"| {kind} | {len(times)} | {middle:.1f} | {slowest:.1f} | {name} | {BARS[kind]:.0f} |")
    return 1 if any(max(times)[0] > BARS[kind] for kind, times in timings.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
