"""The bootstrap over cases: known figures, intervals that hold what they should about as often as they should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blockviz.evaluation.bootstrap import FEWEST, Figure, ratio


def test_a_ratio_of_sums_and_not_a_mean_of_ratios() -> None:
    figure = ratio([10.0, 1.0, 1.0, 1.0, 1.0], [1.0, 10.0, 10.0, 10.0, 10.0])
    assert figure.value == pytest.approx(14 / 41)
    assert figure.low < figure.value < figure.high


def test_cases_that_agree_leave_no_doubt() -> None:
    assert ratio([2.0] * 8, [4.0] * 8) == Figure(0.5, 0.5, 0.5)


def test_the_same_numbers_give_the_same_interval() -> None:
    values, ones = np.arange(20.0), np.ones(20)
    assert ratio(values, ones) == ratio(values, ones)


def test_nothing_to_measure_and_too_little() -> None:
    assert math.isnan(ratio([0.0] * 9, [0.0] * 9).value)
    few = ratio([1.0] * (FEWEST - 1), [2.0] * (FEWEST - 1))
    assert few.value == 0.5
    assert math.isnan(few.low)
    with pytest.raises(ValueError, match="2 numerators and 1"):
        ratio([1.0, 2.0], [1.0])


def test_the_interval_holds_the_mean_in_about_95_of_100_experiments() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        figure = ratio(rng.normal(5.0, 2.0, 12), np.ones(12))
        held += figure.low <= 5.0 <= figure.high
    assert 0.9 <= held / 200 <= 0.99
