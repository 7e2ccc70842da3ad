"""Intervals: known cases, and that they cover the truth in synthetic runs as often as they must; seeds are printed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.bench import statistics
from wizard.bench.measured import Interval

SEEDS = range(200)
FEWEST_COVERED = 180
"""90% of the synthetic benchmarks; the intervals claim 95%."""


def test_students_t_is_that_of_the_tables() -> None:
    assert statistics.t95(2) == 4.303
    assert statistics.t95(30) == 2.042
    assert statistics.t95(60) == pytest.approx(2.000, abs=0.002)
    assert statistics.t95(10_000) == pytest.approx(1.960, abs=0.001)


def test_three_runs_are_compared_and_one_is_divided() -> None:
    assert statistics.groups([[1.0], [2.0], [3.0]]).method == "runs"
    parts = statistics.groups([[float(at) for at in range(25)]])
    assert (parts.method, len(parts.values)) == ("batches", 6)
    assert [value for group in parts.values for value in group] == [float(at) for at in range(25)]
    assert statistics.groups([[1.0, 2.0]]).method == "none"
    assert statistics.groups([[], []]).method == "none"


def test_too_few_values_have_no_interval() -> None:
    spread = statistics.spread([[1.0, 3.0]])
    assert spread is not None
    assert (spread.mean, spread.p50) == (Interval(2.0), Interval(2.0))
    assert statistics.spread([[], []]) is None


def test_a_percentile_beyond_the_data_has_no_upper_bound() -> None:
    spread = statistics.spread([[float(value) for value in range(100)]])
    assert spread is not None
    assert spread.p99.low is not None
    assert spread.p99.high is None
    assert spread.quantiles[0] == 0.0
    assert spread.quantiles[-1] == 99.0


@given(st.lists(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), min_size=1, max_size=6))
def test_a_value_is_within_its_interval(runs: list[list[float]]) -> None:
    spread = statistics.spread(runs)
    assert spread is not None
    for interval in (spread.mean, spread.p50, spread.p90, spread.p99):
        low = -math.inf if interval.low is None else interval.low
        high = math.inf if interval.high is None else interval.high
        tolerance = 1e-9 * (1 + abs(interval.value))
        assert low - tolerance <= interval.value <= high + tolerance
    assert list(spread.quantiles) == sorted(spread.quantiles)


def correlated(random_: random.Random, count: int, mean: float) -> list[float]:
    """Times of requests of a run: gamma-like around ``mean``, each correlated with the one before (0.6)."""
    values, before = [], random_.gauss(0, 1)
    for _ in range(count):
        before = 0.6 * before + 0.8 * random_.gauss(0, 1)
        values.append(mean * math.exp(0.3 * before))
    return values


TRUE_MEAN = 100 * math.exp(0.3**2 / 2)
TRUE_P90 = 100 * math.exp(0.3 * 1.2815515655446004)


def independent_runs(random_: random.Random) -> list[list[float]]:
    """Five runs that differ from one another by 5%."""
    return [correlated(random_, 150, 100 * math.exp(random_.gauss(0, 0.05))) for _ in range(5)]


def single_run(random_: random.Random) -> list[list[float]]:
    return [correlated(random_, 400, 100)]


def covered(interval: Interval, truth: float) -> bool:
    low = -math.inf if interval.low is None else interval.low
    high = math.inf if interval.high is None else interval.high
    return low <= truth <= high


@pytest.mark.parametrize("make", [independent_runs, single_run])
def test_the_intervals_cover_the_truth(make: Callable[[random.Random], Sequence[Sequence[float]]]) -> None:
    extra = math.exp(0.05**2 / 2) if make is independent_runs else 1.0
    p90 = 100 * math.exp(math.hypot(0.3, 0.05 if make is independent_runs else 0.0) * 1.2815515655446004)
    truths = {"mean": TRUE_MEAN * extra, "p50": 100.0, "p90": p90}
    missed: dict[str, list[int]] = {name: [] for name in truths}
    for seed in SEEDS:
        spread = statistics.spread(make(random.Random(seed)))
        assert spread is not None
        for name, truth in truths.items():
            if not covered(getattr(spread, name), truth):
                missed[name].append(seed)
    print(
        {name: f"{len(SEEDS) - len(seeds)} of {len(SEEDS)}, missed by seeds {seeds}" for name, seeds in missed.items()}
    )
    assert {name: seeds for name, seeds in missed.items() if len(SEEDS) - len(seeds) < FEWEST_COVERED} == {}


def test_intervals_from_single_requests_would_not() -> None:
    """The reason for groups: requests that count as independent give intervals that are too narrow."""
    narrow = 0
    for seed in SEEDS:
        values = single_run(random.Random(seed))[0]
        narrow += covered(statistics.of_means(values), TRUE_MEAN)
    assert narrow < FEWEST_COVERED
