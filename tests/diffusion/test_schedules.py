from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockviz.diffusion.schedules import (
    EPS,
    SCHEDULES,
    alpha,
    alpha_pairs,
    dalpha,
    renoise_count,
    time_grid,
)
from tests import golden


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("dtype", "name", "tolerance"), [(torch.float32, "f32", 1e-7), (torch.float64, "f64", 1e-15)]
)
def test_alpha_and_its_derivative_equal_the_reference(schedule, dtype, name, tolerance):
    reference = golden.tensors("schedules")
    t = reference["t"].to(dtype)
    for quantity, function in (("alpha", alpha), ("dalpha", dalpha)):
        expected = reference[f"{schedule}_{quantity}_{name}"]
        actual = function(schedule, t)
        assert actual.dtype == dtype
        torch.testing.assert_close(actual, expected, rtol=2 * tolerance, atol=tolerance)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_dalpha_is_the_derivative(schedule):
    t = torch.linspace(0.01, 0.99, 50, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(alpha(schedule, t).sum(), t)
    torch.testing.assert_close(dalpha(schedule, t.detach()), gradient)


def test_time_grids_equal_the_reference():
    reference = golden.tensors("schedules")
    grids = {key: value for key, value in reference.items() if key.startswith("timesteps_N")}
    assert len(grids) > 30
    for key, expected in grids.items():
        grid = time_grid(int(key.removeprefix("timesteps_N")))
        assert grid.dtype == torch.float64
        torch.testing.assert_close(grid.float(), expected, rtol=0, atol=1.2e-7)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("steps", [1, 2, 16, 256])
def test_alpha_pairs_rise_from_pure_noise_to_one_without_gaps(schedule, steps):
    pairs = alpha_pairs(schedule, steps)
    assert len(pairs) == steps
    assert pairs[0][0] == pytest.approx(EPS)
    assert pairs[-1][1] == 1.0
    assert all(before < after for before, after in pairs)
    assert all(left[1] == right[0] for left, right in pairwise(pairs))


def test_renoise_counts_equal_the_reference():
    checked = 0
    for schedule, by_block in golden.report("k_schedules").items():
        for block, by_steps in by_block.items():
            for steps, expected in by_steps.items():
                pairs = alpha_pairs(schedule, int(steps[1:]))
                counts = [renoise_count(alpha_s, int(block[1:])) for _, alpha_s in pairs[:-1]]
                assert counts == expected, (schedule, block, steps)
                checked += len(counts)
    assert checked > 1000


@given(alpha_s=st.floats(0, 1), free=st.integers(0, 300))
def test_renoise_count_stays_within_the_free_positions(alpha_s, free):
    count = renoise_count(alpha_s, free)
    assert min(1, free) <= count <= free


@pytest.mark.parametrize("steps", [0, -3])
def test_a_block_needs_a_step(steps):
    with pytest.raises(ValueError, match="at least 1"):
        time_grid(steps)


def test_an_unknown_schedule_is_named():
    for function in (alpha, dalpha):
        with pytest.raises(ValueError, match="log-linear, cosine, not 'linear'"):
            function("linear", torch.zeros(1))
