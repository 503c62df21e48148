from __future__ import annotations

import pytest
import torch

from blockviz.training.batches import Example, assemble
from blockviz.training.curriculum import LEVELS, Curriculum, count_levels
from blockviz.training.objective import block_times


def test_noise_moves_from_heavy_to_light_and_stays() -> None:
    curriculum = Curriculum(4.0, 0.5, steps=10)
    exponents = [curriculum.exponent(step, 1000) for step in range(14)]
    assert exponents == sorted(exponents, reverse=True)
    assert exponents[0] == 4.0
    assert exponents[10] == pytest.approx(0.5)
    assert exponents[13] == exponents[10]
    assert exponents[5] == pytest.approx(2**0.5)  # equal factors
    whole = Curriculum(4.0, 0.5)
    assert whole.exponent(99, 100) == pytest.approx(0.5)
    assert whole.exponent(50, 100) > 0.5


@pytest.mark.parametrize(
    ("start", "end", "steps"), [(1.0, 2.0, 0), (2.0, 0.0, 0), (1.0, -1.0, 0), (2.0, 1.0, -1)]
)
def test_a_curriculum_that_goes_the_other_way_is_refused(start: float, end: float, steps: int) -> None:
    with pytest.raises(ValueError, match="from heavy to light"):
        Curriculum(start, end, steps)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 3.0])
def test_times_follow_their_density(exponent: float) -> None:
    streams = assemble([Example((*range(1, 64), 0), 0)] * 400, [8] * 400, [False] * 400, 64, 0)
    times = block_times(streams, torch.Generator().manual_seed(0), exponent)
    # Mean k / (k + 1); 3,200 blocks, stratified, so the standard error is far below 0.005.
    assert times.mean().item() == pytest.approx(exponent / (exponent + 1), abs=0.005)
    per_block = times.view(400, 8, 8)
    assert torch.equal(per_block, per_block[:, :, :1].expand(-1, -1, 8))
    assert (times <= 1).all()


def test_rows_may_differ_in_their_times() -> None:
    streams = assemble([Example((*range(1, 64), 0), 0)] * 200, [16] * 200, [False] * 200, 64, 0)
    exponents = torch.where(torch.arange(200)[:, None] % 2 == 0, 6.0, 1.0)
    times = block_times(streams, torch.Generator().manual_seed(0), exponents)
    assert times[::2].mean().item() == pytest.approx(6 / 7, abs=0.03)
    assert times[1::2].mean().item() == pytest.approx(1 / 2, abs=0.06)


def test_levels_are_counted_where_asked() -> None:
    alpha = torch.tensor([[1.0, 0.99, 0.5, 0.0, 0.0]])
    counted = torch.tensor([[True, True, True, True, False]])
    counts = count_levels(alpha, counted)
    assert counts.shape == (LEVELS,)
    assert (counts[0], counts[LEVELS // 2], counts[-1], counts.sum()) == (2, 1, 1, 4)
