from __future__ import annotations

import math

import pytest

from blockviz.diffusion.bounds import check_weights
from blockviz.training.recipes import FINAL_RATE, RECIPES, Recipe, Stage


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_recipes_mix_all_their_block_sizes_and_end_slowly(recipe: Recipe) -> None:
    """One that another goes on with, optimiser and all, ends at the rate at which that one begins."""
    for stage in recipe.stages:
        assert len(stage.block_weights) == len(recipe.block_sizes)
        check_weights(stage.block_weights)
    last, offset = recipe.stage_at(recipe.steps - 1)
    assert last is recipe.stages[-1]
    going_on = [one for one in RECIPES.values() if one.starts_from == recipe.name and one.keeps_optimiser]
    if last.rate_steps > last.steps and going_on:
        assert [one.stages[0].rate for one in going_on] == pytest.approx(
            [last.rate_factor(offset)] * len(going_on), rel=0.05
        )
    else:
        assert last.rate_factor(offset) < 1.01 * FINAL_RATE


def test_both_noises_share_recipe_and_data_order() -> None:
    masked, uniform = RECIPES["math-masked"], RECIPES["math-uniform"]
    assert masked.stages == uniform.stages
    assert (masked.seed, masked.batch) == (uniform.seed, uniform.batch)


def test_stages_follow_each_other() -> None:
    first, second = Stage(3, (1.0,)), Stage(2, (1.0,), rate=0.5)
    recipe = Recipe("two", "masked", (first, second), block_sizes=(1,))
    assert [recipe.stage_at(step) for step in (0, 2, 3, 4, 9)] == [
        (first, 0),
        (first, 2),
        (second, 0),
        (second, 1),
        (second, 6),
    ]
    assert recipe.steps == 5


def test_the_rate_warms_up_and_follows_a_cosine() -> None:
    stage = Stage(10, (1.0,), rate=0.5, rate_steps=104, warmup_steps=4)
    assert [stage.rate_factor(i) for i in range(4)] == [0.125, 0.25, 0.375, 0.5]
    middle = FINAL_RATE + (0.5 - FINAL_RATE) * (1 + math.cos(math.pi / 2)) / 2
    assert stage.rate_factor(54) == pytest.approx(middle)
    assert stage.rate_factor(1000) == pytest.approx(FINAL_RATE)


def test_practice_falls_and_stays() -> None:
    stage = Stage(10, (1.0,), practice_start=0.6, practice_end=0.1, practice_steps=5)
    assert [round(stage.practice_share(i), 10) for i in (0, 1, 5, 9)] == [0.6, 0.5, 0.1, 0.1]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=str)
def test_a_scaled_recipe_takes_the_same_course(recipe: Recipe) -> None:
    half = recipe.scaled(0.5)
    assert half.steps == pytest.approx(recipe.steps / 2, abs=len(recipe.stages))
    for whole, part in zip(recipe.stages, half.stages, strict=True):
        assert part.block_weights == whole.block_weights
        for offset in range(2 * whole.warmup_steps, whole.steps, 50):
            assert part.rate_factor(offset // 2) == pytest.approx(whole.rate_factor(offset), abs=0.01)
            assert part.practice_share(offset // 2) == pytest.approx(
                whole.practice_share(offset), abs=0.01
            ) or (whole.practice_steps == 1)
