"""Paired intervals: known values, what must hold for all, and how often they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockviz.evaluation.paired import FEWEST_PAIRS, mcnemar, mean_difference, share_difference

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def cases(both: int, first: int, second: int, neither: int) -> tuple[list[bool], list[bool]]:
    rows = (
        [(True, True)] * both
        + [(True, False)] * first
        + [(False, True)] * second
        + [(False, False)] * neither
    )
    return [a for a, _ in rows], [b for _, b in rows]


def test_an_example_of_newcombes_paper() -> None:
    # Table II of Newcombe 1998, first column: 36 agree, 12 against 2, none fails both.
    found = share_difference(*cases(36, 2, 12, 0))
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == (pytest.approx(0.0569, abs=5e-5), pytest.approx(0.3404, abs=5e-5))


def test_the_exact_test_is_the_binomials() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(0, 5) == pytest.approx(2 / 32)
    assert mcnemar(1, 9) == pytest.approx(2 * 11 / 1024)
    assert share_difference(*cases(0, 1, 9, 0)).p == mcnemar(9, 1)


@given(pairs)
def test_shares_turned_round_give_the_interval_turned_round(rows: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in rows], [b for _, b in rows]
    one, other = share_difference(first, second), share_difference(second, first)
    assert -1 <= one.low <= one.value + 1e-12
    assert one.value - 1e-12 <= one.high <= 1
    assert (other.low, other.high) == (pytest.approx(-one.high, abs=1e-9), pytest.approx(-one.low, abs=1e-9))
    if first == second:
        assert one.value == 0
        assert not one.tells


@given(st.lists(st.floats(-50, 50), min_size=FEWEST_PAIRS, max_size=30), st.floats(-9, 9))
def test_a_constant_difference_is_known_exactly(values: list[float], gap: float) -> None:
    found = mean_difference(values, [value + gap for value in values])
    assert found.value == pytest.approx(gap, abs=1e-9)
    assert found.low == pytest.approx(gap, abs=1e-9)
    assert found.high == pytest.approx(gap, abs=1e-9)


def test_too_few_or_unequal_pairs() -> None:
    few = mean_difference([1.0, 2.0], [2.0, 4.0])
    assert few.value == 1.5
    assert math.isnan(few.low)
    assert not few.tells
    with pytest.raises(ValueError, match="no pairs"):
        mean_difference([1.0], [])
    with pytest.raises(ValueError, match="no pairs"):
        share_difference([True], [])
    assert math.isnan(share_difference([], []).low)


@pytest.mark.parametrize(
    ("a", "b", "shared", "n"), [(0.6, 0.6, 0.0, 20), (0.85, 0.7, 0.5, 20), (0.3, 0.5, 0.3, 50)]
)
def test_the_interval_of_shares_holds_the_truth_as_often_as_it_says(
    a: float, b: float, shared: float, n: int
) -> None:
    rng = np.random.default_rng(5)
    held, rounds = 0, 1500
    for _ in range(rounds):
        # With probability `shared` both are judged by one number, so that they are right together.
        draws = rng.random((n, 2))
        together = rng.random(n) < shared
        draws[together, 1] = draws[together, 0]
        found = share_difference((draws[:, 0] < a).tolist(), (draws[:, 1] < b).tolist())
        held += found.low <= b - a <= found.high
    # Four standard errors of the estimate are 2.3 points; the method is known to be slightly cautious.
    assert 0.925 <= held / rounds <= 0.99


@pytest.mark.parametrize(("kind", "n"), [("normal", 10), ("normal", 20), ("skewed", 30), ("counts", 20)])
def test_the_interval_of_means_holds_the_truth_as_often_as_it_says(kind: str, n: int) -> None:
    rng = np.random.default_rng(6)
    draw = {
        "normal": lambda: (rng.normal(0.4, 1.0, n), 0.4),
        "skewed": lambda: (rng.exponential(1.0, n), 1.0),
        "counts": lambda: (rng.poisson(2.0, n).astype(float), 2.0),
    }[kind]
    held, rounds = 0, 1200
    for index in range(rounds):
        gaps, truth = draw()
        base = rng.normal(0, 5, n)
        found = mean_difference(base.tolist(), (base + gaps).tolist(), resamples=600, seed=index)
        held += found.low <= truth <= found.high
    # Four standard errors are 2.5 points; skewed numbers cost the bootstrap some of its 95.
    assert (0.90 if kind == "skewed" else 0.92) <= held / rounds <= 0.985
