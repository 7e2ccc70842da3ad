"""How honest the speed estimates are on public measurements: median error, bias, and coverage of the stated range.

python benchmarks/advice/coverage.py

Errors are of milliseconds per token: estimate / measured - 1, so that slower than measured is positive.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable

from public import INDEPENDENT, LATER, Point, read

from wizard.advise.speed import estimate

NEAR = 0.3
"""Error of a time to the first token that counts as near; its range is for the load, not for the error."""
Score = tuple[float, bool, str]
"""Error, whether the measurement is in the range, and the confidence."""


def score(point: Point) -> Score | None:
    """What the estimate for ``point`` is worth; None without an estimate."""
    speed = estimate(point.facts, point.device, point.setup, point.load, point.capacity, point.release)
    if speed is None or not (speed.tpot_ms and speed.low and speed.high and speed.served):
        return None
    if point.metric == "tpot_ms":
        low, middle, high, measured = speed.low, speed.tpot_ms, speed.high, point.measured
    else:
        measured = speed.served / point.measured * 1e3
        shown = speed.served / (speed.throughput_tokens_per_s or 1.0) * 1e3
        low, middle, high = (shown * bound / speed.tpot_ms for bound in (speed.low, speed.tpot_ms, speed.high))
    return middle / measured - 1, low <= measured <= high, speed.confidence


def line(label: str, scores: list[Score]) -> str:
    """A row of the table."""
    errors = [error for error, _, _ in scores]
    inside = sum(covered for _, covered, _ in scores)
    median = statistics.median(abs(error) for error in errors)
    cells = (label, len(scores), f"{median:.1%}", f"{statistics.median(errors):+.1%}", f"{inside / len(scores):.0%}")
    return f"| {' | '.join(map(str, cells))} |"


def table(pairs: list[tuple[Point, Score]], title: str) -> Iterable[str]:
    """All rows of one half."""
    yield f"| {title} | points | median error | bias (median) | in the range |"
    yield "|---|---|---|---|---|"
    keys: tuple[Callable[[Point, Score], str], ...] = (
        lambda _, __: "all",
        lambda point, _: point.engine,
        lambda point, _: f"{point.engine}, compute capability {point.generation}",
        lambda point, _: f"{point.engine}, {point.setup.quantization}",
        lambda point, result: f"{point.engine}, confidence {result[2]}",
        lambda point, _: f"{point.engine}, {point.source}",
    )
    for key in keys:
        for label in sorted({key(*pair) for pair in pairs}):
            yield line(label, [pair[1] for pair in pairs if key(*pair) == label])


def first_tokens(points: list[Point]) -> Iterable[str]:
    """The table of times to the first token."""
    yield f"| time to the first token | points | median error | bias (median) | within {NEAR:.0%} |"
    yield "|---|---|---|---|---|"
    groups: dict[str, list[Score]] = {}
    for point in points:
        speed = estimate(point.facts, point.device, point.setup, point.load, point.capacity, point.release)
        if point.ttft_ms and speed and speed.ttft_ms:
            label = f"{point.engine}, {'one user' if point.load.users == 1 else 'several'}"
            ratio = speed.ttft_ms / point.ttft_ms
            groups.setdefault(label, []).append((ratio - 1, 1 / (1 + NEAR) <= ratio <= 1 + NEAR, speed.confidence))
    for label, scores in sorted(groups.items()):
        yield line(label, scores)


def scored(points: list[Point]) -> list[tuple[Point, Score]]:
    """The points that have an estimate."""
    return [(point, result) for point in points if (result := score(point)) is not None]


def main() -> int:
    """Print a table for the independent points, the held-out half and the other half; 1 if a bar is missed.

    The bars are for the first two without the old engines: a median error of 10 %, and 85 % in the range.
    """
    pairs = scored(read())
    independent, held = scored(read(INDEPENDENT)), [pair for pair in pairs if pair[0].held_out]
    later = scored(read(LATER))
    fitted = [pair for pair in pairs if not pair[0].held_out]
    for some, title in ((independent, "independent"), (later, "later"), (held, "held out"), (fitted, "fitted")):
        print(*table(some, title), "", sep="\n")
    print(*first_tokens([*read(INDEPENDENT), *read(LATER)]), "", sep="\n")
    current = [result for point, result in (*independent, *held) if not point.old]
    median = statistics.median(abs(error) for error, _, _ in current)
    print(f"without old engines: {line('independent and held out', current)}")
    return int(median > 0.10 or sum(inside for _, inside, _ in current) < 0.85 * len(current))


if __name__ == "__main__":
    sys.exit(main())
