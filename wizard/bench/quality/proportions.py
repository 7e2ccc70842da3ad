"""95% intervals of shares, and of the difference of two servers on the same questions. Pure.

Sources, recalled: Wilson, *Probable Inference, the Law of Succession, and Statistical Inference* (1927); McNemar, *Note
on the Sampling Error of the Difference Between Correlated Proportions* (1947); Bonett and Price, *Adjusted Wald
Confidence Interval for a Difference of Binomial Proportions Based on Paired Data* (2012). Tested by coverage:
tests/bench/test_proportions.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from wizard.bench.measured import Interval
from wizard.bench.statistics import mean, of_means

Z = NormalDist().inv_cdf(0.975)
SHARES = (0.0, 1.0)


def of_scores(scores: Sequence[float]) -> Interval | None:
    """The mean score with its interval: Wilson's if all are 0 or 1, else Student's t; None without any."""
    if not scores:
        return None
    if all(score in SHARES for score in scores):
        return wilson(int(sum(scores)), len(scores))
    return of_means(scores)


def wilson(hits: int, count: int) -> Interval:
    """The share of ``hits`` in ``count`` ≥ 1, with Wilson's score interval."""
    share, weight = hits / count, Z**2 / count
    center = (share + weight / 2) / (1 + weight)
    half = Z / (1 + weight) * math.sqrt(share * (1 - share) / count + weight / (4 * count))
    low = 0.0 if hits == 0 else max(0.0, center - half)  # exact at the ends, where rounding is not
    return Interval(share, low, 1.0 if hits == count else min(1.0, center + half))


def difference(first: Sequence[float], second: Sequence[float]) -> Interval | None:
    """Mean of ``first`` − mean of ``second``, scores of the same questions in the same order; None without any.

    Bonett and Price's interval if all are 0 or 1, else Student's t of the differences.
    """
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        return None
    value = mean([left - right for left, right in pairs])
    if any(score not in SHARES for pair in pairs for score in pair):
        return of_means([left - right for left, right in pairs], value)
    better = (sum(left > right for left, right in pairs) + 1) / (len(pairs) + 2)
    worse = (sum(left < right for left, right in pairs) + 1) / (len(pairs) + 2)
    center = better - worse
    half = Z * math.sqrt((better + worse - center**2) / (len(pairs) + 2))
    return Interval(value, max(-1.0, center - half), min(1.0, center + half))


def sign_test(better: int, worse: int) -> float:
    """Exact two-sided p-value of so many differences in either direction if both were equally likely.

    For scores of 0 and 1, this is the exact McNemar test.
    """
    count, fewer = better + worse, min(better, worse)
    tail: int = sum(math.comb(count, at) for at in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << count))
