"""Intervals by the bootstrap over cases: resample the cases, take the figure of each resample, and cut off the tails.

Percentiles are widened for small samples as in Hesterberg 2015, "What teachers should know about the bootstrap"
(section 3.3, expanded percentiles). Resampling has a generator of its own, so that the same numbers give the same
interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from blockviz.evaluation.accuracy import Z95

RESAMPLES = 4000
FEWEST = 5
"""With fewer cases no interval is given."""


@dataclass(frozen=True)
class Figure:
    """A figure and its 95% interval [`low`, `high`]; NaN where there is nothing to measure, or too little."""

    value: float
    low: float
    high: float


def ratio(
    numerators: Sequence[float] | NDArray[np.float64], denominators: Sequence[float] | NDArray[np.float64]
) -> Figure:
    """The sum of `numerators` over the sum of `denominators`, one of each per case; all ones make it a mean.

    Raises ValueError unless there are as many of both.
    """
    above, below = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    n = len(above)
    if len(below) != n:
        raise ValueError(f"{n} numerators and {len(below)} denominators")
    if below.sum() == 0:
        return Figure(math.nan, math.nan, math.nan)
    value = float(above.sum() / below.sum())
    if n < FEWEST:
        return Figure(value, math.nan, math.nan)
    chosen = resampled(n)
    sums = below[chosen].sum(axis=1)
    low, high = expanded(above[chosen].sum(axis=1)[sums > 0] / sums[sums > 0], n)
    return Figure(value, low, high)


def resampled(n: int, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.int64]:
    """Which of `n` cases each resample holds: int64 [resamples, n]."""
    return np.random.default_rng(seed).integers(0, n, (resamples, n))


def expanded(figures: NDArray[np.float64], n: int) -> tuple[float, float]:
    """The 95% interval that the figures [R] of resamples of `n` cases give."""
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * _student(n - 1))
    low, high = np.quantile(figures, [tail, 1 - tail])
    return float(low), float(high)


def _student(freedom: int) -> float:
    """The 97.5% quantile of Student's t, by its expansion around the normal one (within 0.3% from 4 degrees on)."""
    z, v = Z95, freedom
    terms = (
        z,
        (z**3 + z) / (4 * v),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3),
    )
    return float(sum(terms))
