from __future__ import annotations

import pytest
import torch

from blockviz.diffusion.draws import GeneratorDraws, RowDraws


def test_one_seed_gives_one_stream_and_the_global_generator_is_left_alone():
    state = torch.get_rng_state()
    first, second, other = GeneratorDraws(3), GeneratorDraws(3), GeneratorDraws(4)
    assert torch.equal(first.uniform(2, 50), second.uniform(2, 50))
    assert torch.equal(first.integers(9, 50), second.integers(9, 50))
    assert not torch.equal(first.uniform(50), other.uniform(50))
    assert torch.equal(torch.get_rng_state(), state)


def test_uniform_numbers_carry_more_than_float32_holds():
    """Trap 1 begins here."""
    u = GeneratorDraws(0).uniform(1000)
    assert u.dtype == torch.float64
    assert ((u >= 0) & (u < 1)).all()
    assert (u.float().double() != u).float().mean() > 0.9


def test_integers_reach_every_value_below_high():
    drawn = GeneratorDraws(0).integers(7, 500)
    assert drawn.dtype == torch.int64
    assert set(drawn.tolist()) == set(range(7))


def test_rows_draw_what_each_would_alone():
    rows = RowDraws([5, 9, 5])
    u, n = rows.uniform(3, 4, 6), rows.integers(11, 3, 4)
    for index, seed in enumerate([5, 9, 5]):
        alone = GeneratorDraws(seed)
        assert torch.equal(u[index : index + 1], alone.uniform(1, 4, 6))
        assert torch.equal(n[index : index + 1], alone.integers(11, 1, 4))


def test_rows_refuse_another_batch_size():
    with pytest.raises(ValueError, match="batch of 2"):
        RowDraws([1, 2]).uniform(3, 4)
