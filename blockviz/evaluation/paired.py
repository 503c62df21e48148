"""Intervals for differences between two samplers that were run on the same seeds: pairs, not two separate samples.

Right or wrong: Newcombe's interval for a difference of paired shares (Newcombe 1998, "Improved confidence intervals for
the difference between binomial proportions based on paired data", method 10) and McNemar's exact test. Numbers: the
bootstrap over pairs (`evaluation.bootstrap`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blockviz.evaluation.accuracy import wilson
from blockviz.evaluation.bootstrap import FEWEST, RESAMPLES, expanded, resampled

LEVEL = 0.95
"""The share of experiments in which an interval should hold the true difference."""
FEWEST_PAIRS = FEWEST
"""With fewer pairs of numbers no interval is given."""


@dataclass(frozen=True)
class Difference:
    """Second minus first over `pairs` pairs: the mean `value` and its 95% interval [`low`, `high`].

    NaN bounds where there are too few pairs. `p` is McNemar's exact two-sided p of right or wrong, else None.
    """

    value: float
    low: float
    high: float
    pairs: int
    p: float | None = None

    @property
    def tells(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def share_difference(first: Sequence[bool], second: Sequence[bool]) -> Difference:
    """The difference of two shares of rights on the same cases. Raises ValueError unless there are as many of both."""
    n = _count(first, second)
    both = sum(a and b for a, b in zip(first, second, strict=True))
    only = [sum(first) - both, sum(second) - both]
    neither = n - both - sum(only)
    if n == 0:
        return Difference(math.nan, math.nan, math.nan, 0, 1.0)
    p = [sum(first) / n, sum(second) / n]
    limits = [wilson(sum(first), n), wilson(sum(second), n)]
    product = (both + only[0]) * (only[1] + neither) * (both + only[1]) * (only[0] + neither)
    phi = _covered(both * neither - only[0] * only[1], n) / math.sqrt(product) if product else 0.0
    value = p[1] - p[0]
    down = _hypot(p[1] - limits[1][0], limits[0][1] - p[0], phi)
    up = _hypot(limits[1][1] - p[1], p[0] - limits[0][0], phi)
    return Difference(value, max(-1.0, value - down), min(1.0, value + up), n, mcnemar(only[0], only[1]))


def _covered(excess: float, n: int) -> float:
    """Newcombe's correction of a positive correlation for its being estimated."""
    return max(excess - n / 2, 0.0) if excess > 0 else excess


def _hypot(a: float, b: float, phi: float) -> float:
    return math.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p that the cases on which just one was right fall so unevenly, were both equally good."""
    n, k = only_first + only_second, min(only_first, only_second)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n)


def mean_difference(
    first: Sequence[float], second: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """The mean difference of two numbers taken on the same cases, with the bootstrap's interval over pairs.

    Resampling has a generator of its own (`seed`): the same numbers give the same interval. Raises ValueError unless
    there are as many of both.
    """
    n = _count(first, second)
    gaps = np.array(second, np.float64) - np.array(first, np.float64)
    value = float(gaps.mean()) if n else math.nan
    if n < FEWEST_PAIRS:
        return Difference(value, math.nan, math.nan, n)
    low, high = expanded(gaps[resampled(n, resamples, seed)].mean(axis=1), n)
    return Difference(value, low, high, n)


def _count(first: Sequence[object], second: Sequence[object]) -> int:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values are no pairs")
    return len(first)
