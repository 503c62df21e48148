from __future__ import annotations

from itertools import pairwise

import pytest

from blockviz.sampling.plans import PLANS, blocks, free_after, is_guided, tokens
from blockviz.sampling.predictors import PREDICTORS
from blockviz.sampling.settings import FIELDS, SamplerSettings


def windows(settings: SamplerSettings, prompts: list[int], length: int) -> list[tuple[int, int]]:
    plan = PLANS[settings.predictor](settings, free_after(prompts, length), "log-linear")
    return [(segment.start, segment.stop) for segment in plan]


def test_every_choice_of_the_setting_has_a_plan_and_a_predictor() -> None:
    names = {choice.value for choice in FIELDS["predictor"].choices}
    assert set(PLANS) == names
    assert set(PREDICTORS) >= names


def test_blocks_are_absolute_and_the_last_one_may_be_short() -> None:
    settings = SamplerSettings(block_size=4)
    assert windows(settings, [0], 10) == [(0, 4), (4, 8), (8, 10)]
    assert windows(settings, [4], 10) == [(4, 8), (8, 10)]
    assert windows(settings, [9], 10) == [(8, 10)]


def test_a_prompt_that_ends_inside_a_block_is_fixed_there() -> None:
    first, second = blocks(SamplerSettings(block_size=4), free_after([6], 10), "log-linear")
    assert (first.block, second.block) == (1, 2)
    assert first.free.tolist() == [[False, False, True, True]]
    assert second.free.tolist() == [[True, True]]


def test_rows_start_where_their_own_prompts_end() -> None:
    plan = blocks(SamplerSettings(block_size=4), free_after([9, 2], 10), "log-linear")
    assert [(segment.start, segment.free.tolist()) for segment in plan] == [
        (0, [[False] * 4, [False, False, True, True]]),
        (4, [[False] * 4, [True] * 4]),
        (8, [[False, True], [True, True]]),
    ]


def test_autoregressive_is_one_token_per_segment_and_one_step() -> None:
    plan = tokens(SamplerSettings(predictor="autoregressive"), free_after([3, 5], 7), "log-linear")
    assert [segment.start for segment in plan] == [3, 4, 5, 6]
    assert [segment.block for segment in plan] == [3, 4, 5, 6]
    assert {len(segment.steps) for segment in plan} == {1}
    assert [segment.free.flatten().tolist() for segment in plan] == [[True, False]] * 2 + [[True, True]] * 2


def test_an_ar_prefix_comes_before_the_blocks_and_counts_tokens_per_row() -> None:
    settings = SamplerSettings(block_size=4, ar_prefix=3)
    plan = blocks(settings, free_after([2, 7], 12), "log-linear")
    prefix = [segment for segment in plan if segment.predictor == "autoregressive"]
    assert [(s.start, s.block, s.free.flatten().tolist()) for s in prefix] == [
        (2, 0, [True, False]),
        (3, 0, [True, False]),
        (4, 1, [True, False]),
        (7, 1, [False, True]),
        (8, 2, [False, True]),
        (9, 2, [False, True]),
    ]
    rest = plan[len(prefix) :]
    assert [(s.start, s.stop) for s in rest] == [(4, 8), (8, 12)]
    assert rest[0].free.tolist() == [[False, True, True, True], [False] * 4]
    assert rest[1].free.tolist() == [[True] * 4, [False, False, True, True]]


def test_an_ar_prefix_longer_than_the_canvas_leaves_no_block() -> None:
    assert windows(SamplerSettings(block_size=4, ar_prefix=9), [2], 6) == [(2, 3), (3, 4), (4, 5), (5, 6)]


@pytest.mark.parametrize(
    ("steps", "warmup", "every", "guided"),
    [
        (4, 0, 1, [0, 1, 2]),
        (6, 1, 2, [1, 3]),
        (8, 3, 3, [3, 6]),
        (2, 0, 1, [0]),
        (1, 0, 1, []),
        (4, 3, 1, []),
    ],
)
def test_which_steps_are_guided(steps: int, warmup: int, every: int, guided: list[int]) -> None:
    """From the warm-up on, every n-th, never the last; S + floor((S - 2 - warmup) / every) + 1 calls with AR scores."""
    settings = SamplerSettings(corrector="ar_nll", steps=steps, warmup=warmup, every=every, block_size=4)
    plan = blocks(settings, free_after([0], 4), "log-linear")
    assert [i for i, step in enumerate(plan[0].steps) if step.guided] == guided
    assert [i for i in range(steps) if is_guided(i, steps, warmup, every)] == guided
    if guided:
        assert len(guided) == (steps - 2 - warmup) // every + 1


def test_noise_levels_fall_to_none() -> None:
    plan = blocks(SamplerSettings(steps=5, schedule="cosine", block_size=4), free_after([0], 4), "cosine")
    levels = plan[0].steps
    assert levels[0].alpha_t == pytest.approx(1e-3)
    assert levels[-1].alpha_s == 1.0
    for before, after in pairwise(levels):
        assert before.alpha_s == after.alpha_t > before.alpha_t
