"""95% confidence intervals from runs and requests. Pure.

Requests of one run are not independent: they share batches, caches and clocks. The spread of single requests would
give intervals that are far too narrow. So what is compared are groups of requests:

- with `ENOUGH_RUNS` runs or more, a group is a run: *independent replications*. It includes what differs from one run
  to the next, and needs no assumption about what happens inside one;
- with fewer, a group is one of `BATCHES` consecutive parts of the runs: *batch means*. Parts that are long compared
  with a request are nearly independent. What differs from one run to the next is not included.

The interval of a mean is Student's t interval over the groups' means. That of a quantile inverts the interval of the
share of requests below it: the share's standard error comes from the groups again, but is never less than that of
independent requests.

Two servers are compared by the ratio of their values, on the scale of logarithms, where a ratio is a difference:

- if their runs alternate, run *n* of one and run *n* of the other are a pair that met the same state of the machine:
  Student's t interval over the logarithms of the pairs' ratios (the *paired-t* interval of two systems);
- otherwise the interval of the ratio is recovered from those of the two values (*MOVER*): on each side, the square
  root of the sum of the squared distances from either value to its own bound.

Sources, recalled: Law, *Simulation Modeling and Analysis* (replications, batch means, paired-t); Woodruff, *Confidence
Intervals for Medians and Other Position Measures* (1952); Zou and Donner, *Construction of confidence limits about
effect measures: a general approach* (2008). Tested by coverage: tests/bench/test_statistics.py and test_ratios.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

from wizard.bench.measured import Interval, Method, Spread

ENOUGH_RUNS = 3
"""From which on runs are compared: two would make intervals six times as wide as their difference."""
BATCHES = 6
"""Parts of the runs. With more they are shorter, less independent, and the intervals too narrow: of 1000 synthetic runs
of 400 requests (correlation 0.6 from one to the next), the interval of the median covers the truth in 953 with 5 parts,
943 with 6, and 936 with 8 or 10. With fewer the intervals are wider: by 5% with 5.
"""
FEWEST = 3
"""Groups from which on there is an interval."""
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Student's t for 95%, two-sided, by degrees of freedom from 1."""


def t95(freedom: int) -> float:
    """Student's t for a two-sided 95% interval."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom)


@dataclass(frozen=True, slots=True)
class Groups:
    """Values of requests in groups that are compared, and what a group is."""

    values: tuple[tuple[float, ...], ...]
    method: Method


def groups(runs: Sequence[Sequence[float]]) -> Groups:
    """The values of several runs, each in the order of the requests, as groups."""
    filled = [tuple(run) for run in runs if run]
    if len(filled) >= ENOUGH_RUNS:
        return Groups(tuple(filled), "runs")
    if not filled:
        return Groups((), "none")
    parts = [part for run in filled for part in split(run, BATCHES // len(filled))]
    return Groups(tuple(parts), "batches" if len(parts) >= FEWEST else "none")


def split(values: Sequence[float], count: int) -> list[tuple[float, ...]]:
    """``values`` in ``count`` consecutive parts of about the same length; fewer if there are not enough."""
    count = min(count, len(values))
    edges = [len(values) * at // count for at in range(count + 1)]
    return [tuple(values[first:last]) for first, last in pairwise(edges)]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)


def of_means(means: Sequence[float], value: float | None = None) -> Interval:
    """The interval of the mean of groups that count the same; around ``value`` if that is known better.

    What is measured is never negative, so the lower bound is 0 at least.
    """
    centre = mean(means) if value is None else value
    error = standard_error(means)
    if error is None:
        return Interval(centre)
    half = t95(len(means) - 1) * error
    return Interval(centre, max(0.0, centre - half), centre + half)


def standard_error(means: Sequence[float]) -> float | None:
    """The standard error of the mean of ``means``; None if there are too few."""
    if len(means) < FEWEST:
        return None
    middle = mean(means)
    return math.sqrt(math.fsum((each - middle) ** 2 for each in means) / (len(means) - 1) / len(means))


def spread(runs: Sequence[Sequence[float]]) -> Spread | None:
    """The distribution of a value over the requests of ``runs``; None without any."""
    each = groups(runs)
    everything = sorted(value for group in each.values for value in group)
    if not everything:
        return None
    return Spread(
        mean=of_means([mean(group) for group in each.values], mean(everything)),
        p50=quantile(everything, each, 0.5),
        p90=quantile(everything, each, 0.9),
        p99=quantile(everything, each, 0.99),
        quantiles=tuple(at(everything, step / 20) for step in range(21)),
    )


def quantile(ordered: Sequence[float], each: Groups, share: float) -> Interval:
    """The value that ``share`` of the requests do not exceed.

    A bound that lies beyond the smallest or largest value seen is None: the data do not give it.
    """
    value = at(ordered, share)
    error = standard_error([mean([sample <= value for sample in group]) for group in each.values])
    if error is None:
        return Interval(value)
    independent = math.sqrt(share * (1 - share) / len(ordered))
    half = t95(len(each.values) - 1) * max(error, independent)
    low = at(ordered, share - half) if share - half > 0 else None
    high = at(ordered, share + half) if share + half < 1 else None
    return Interval(value, low, high)


def at(ordered: Sequence[float], share: float) -> float:
    """The quantile of sorted values, interpolated linearly between neighbors."""
    place = share * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2)
    if below < 0:
        return ordered[0]
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Interval | None:
    """How many times the second value is the first, from pairs of runs; None if a value is not above 0, or without any.

    The value is the geometric mean of the pairs' ratios.
    """
    if not pairs or min(map(min, pairs)) <= 0:
        return None
    logs = [math.log(second / first) for first, second in pairs]
    middle, error = mean(logs), standard_error(logs)
    if error is None:
        return Interval(math.exp(middle))
    half = t95(len(logs) - 1) * error
    return Interval(math.exp(middle), _exp(middle - half), _exp(middle + half))


def ratio(first: Interval, second: Interval) -> Interval | None:
    """How many times ``second`` is ``first``, both measured alone; None if a value is not above 0.

    A bound is None where the two intervals do not give it.
    """
    if first.value <= 0 or second.value <= 0:
        return None
    value = second.value / first.value
    down = _distance(_log(second.value, second.low), _log(first.high, first.value))
    up = _distance(_log(second.high, second.value), _log(first.value, first.low))
    low = None if down is None else _exp(math.log(value) - down)
    high = None if up is None else _exp(math.log(value) + up)
    return Interval(value, low, high)


def _log(larger: float | None, smaller: float | None) -> float | None:
    """The distance of two values on the scale of logarithms; None if one is unknown or 0."""
    return math.log(larger / smaller) if larger and smaller else None


def _distance(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else math.hypot(first, second)


def _exp(value: float) -> float | None:
    """None if it is beyond all numbers."""
    return math.exp(value) if value < 700 else None
