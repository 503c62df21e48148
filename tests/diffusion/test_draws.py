from __future__ import annotations

import torch

from blockviz.diffusion.draws import GeneratorDraws


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
