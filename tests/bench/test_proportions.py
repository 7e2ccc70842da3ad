"""Shares and paired differences: published cases, and coverage in synthetic evaluations; seeds are printed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.bench.measured import Interval
from wizard.bench.quality.proportions import difference, of_scores, sign_test, wilson

SEEDS = range(200)
FEWEST_COVERED = 180


def test_wilson_is_that_of_newcombe() -> None:
    """Newcombe, *Two-sided confidence intervals for the single proportion* (1998), table I, method 3; recalled."""
    for hits, count, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        interval = wilson(hits, count)
        assert (interval.low, interval.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_the_sign_test_is_the_binomials() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(5, 5) == 1.0
    assert sign_test(0, 6) == pytest.approx(2 / 64)
    assert sign_test(1, 8) == sign_test(8, 1) == pytest.approx(2 * 10 / 512)
    assert sign_test(3000, 3100) == pytest.approx(0.205, abs=0.005)  # no overflow


def test_scores_that_are_no_shares_have_students_interval() -> None:
    assert of_scores([]) is None
    assert of_scores([1.0, 0.0]) == wilson(1, 2)
    interval = of_scores([0.2, 0.4, 0.6])
    assert interval is not None
    assert interval.value == pytest.approx(0.4)
    assert interval.high == pytest.approx(0.4 + 4.303 * 0.2 / 3**0.5)
    assert difference([], []) is None
    assert difference([0.5], [0.2]) == Interval(0.3)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_a_difference_is_turned_around_with_its_servers(pairs: list[tuple[bool, bool]]) -> None:
    first, second = ([float(pair[at]) for pair in pairs] for at in (0, 1))
    there, back = difference(first, second), difference(second, first)
    assert there is not None
    assert back is not None
    assert there.low is not None
    assert there.high is not None
    assert -1 <= there.low <= there.high <= 1
    assert (there.value, there.low, there.high) == pytest.approx((-back.value, -(back.high or 0), -(back.low or 0)))


@pytest.mark.parametrize(("both", "first", "second", "count"), [(0.5, 0.06, 0.1, 200), (0.85, 0.02, 0.02, 100)])
def test_intervals_of_paired_differences_cover_the_truth(both: float, first: float, second: float, count: int) -> None:
    covered, neither = 0, 1 - both - first - second
    for seed in SEEDS:
        rng = random.Random(seed)
        cells = rng.choices(((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)), (both, first, second, neither), k=count)
        interval = difference([cell[0] for cell in cells], [cell[1] for cell in cells])
        assert interval is not None
        covered += (interval.low or 0) <= first - second <= (interval.high or 0)
    print(f"seeds {SEEDS}: {covered} of {len(SEEDS)} intervals cover the truth")
    assert covered >= FEWEST_COVERED
