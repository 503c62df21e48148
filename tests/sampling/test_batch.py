from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.sampling.batch import RowsDraws, sample_batch
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SamplerSettings, SettingsError
from tests.sampling.small_models import tiny_model, words

PROMPTS = [words(1, 2, 3, 1, 2, 4), words(2), words(*range(11)), words(1, 2, 3, 1, 2, 4), words(5, 5, 5, 5)]
SEEDS = [7, 8, 9, 10, 11]

MODES: dict[str, dict[str, Any]] = {
    "ar": {"predictor": "autoregressive"},
    "ar greedy": {"predictor": "autoregressive", "temperature": 0},
    "ancestral": {},
    "short blocks": {"block_size": 5, "steps": 2, "temperature": 0.7},
    "whole canvas": {"block_size": 22, "corrector": "entropy"},
    "arpc": {"corrector": "ar_nll"},
    "arpc recomputed": {"corrector": "ar_nll", "use_cache": False},
    "prefix": {"corrector": "ar_nll", "ar_prefix": 5},
    "kld": {"corrector": "kld", "warmup": 1},
    "random": {"corrector": "random"},
    "filled": {"corrector": "ar_gap", "fill_canvas": True},
    "overlap": {"seams": "overlap", "overlap": 2},
    "seams": {"seams": "renoise", "seam_width": 2, "temperature": 0.6},
    "canvas at once": {"context": "canvas"},
}
MASKED_MODES: dict[str, dict[str, Any]] = {
    "confident": {"predictor": "confident", "steps": 5},
    "confident at random": {"predictor": "confident", "order": "random", "seams": "renoise"},
    "threshold": {"predictor": "threshold", "threshold": 0.15},
    "canvas": {"predictor": "confident", "context": "canvas", "steps": 7},
    "blockwise": {"predictor": "confident", "context": "bidirectional", "counting": "floor"},
    "blockwise overlap": {
        "predictor": "threshold",
        "context": "bidirectional",
        "seams": "overlap",
        "overlap": 1,
    },
}
ALL_MODES = [(process, MODES[mode]) for process in ("masked", "uniform") for mode in MODES]
ALL_MODES += [("masked", options) for options in MASKED_MODES.values()]


@pytest.mark.parametrize(("process", "options"), ALL_MODES, ids=str)
def test_a_row_is_the_run_it_would_be_alone(process: str, options: dict[str, Any]) -> None:
    """Trap 12: prompts of different lengths, rows that end early, one seed each; tokens, text and calls."""
    model = tiny_model(process, end_id=1 if process == "masked" else 6, seed=4)
    settings = SamplerSettings(**{"block_size": 4, "steps": 3, **options})
    batch = sample_batch(model, PROMPTS, settings, SEEDS)
    ends = set()
    for row, (prompt, seed) in enumerate(zip(PROMPTS, SEEDS, strict=True)):
        alone = sample(model, prompt, replace(settings, seed=seed))
        last = alone.passes[-1]
        assert batch.tokens[row].tolist() == last.tokens.tolist()
        assert batch.texts[row] == alone.end.text
        assert (batch.nfe_denoise[row], batch.nfe_verify[row]) == (last.nfe_denoise, last.nfe_verify)
        assert batch.prompt_lengths[row] == alone.header.prompt_length
        assert batch.lengths[row] == last.stop or settings.seams == "overlap"  # whose last tokens are drafts
        ends.add(alone.end.finished)
    if options in ({}, MODES["ar"], MODES["arpc"]) and process == "masked":
        assert ends == {"end_token", "canvas"}  # the comparison covers both ways to end


def test_a_row_does_not_depend_on_its_batch_mates() -> None:
    model = tiny_model("uniform", end_id=6)
    settings = SamplerSettings(block_size=4, steps=3, corrector="ar_nll")
    few = sample_batch(model, PROMPTS[:2], settings, SEEDS[:2])
    mates = sample_batch(model, [PROMPTS[1], PROMPTS[2], PROMPTS[0]], settings, [SEEDS[1], 99, SEEDS[0]])
    assert few.tokens[0].tolist() == mates.tokens[2].tolist()
    assert few.tokens[1].tolist() == mates.tokens[0].tolist()


def test_a_batch_shares_its_forwards() -> None:
    model = tiny_model("masked")
    settings = SamplerSettings(block_size=4, steps=3, corrector="ar_nll")
    calls: list[int] = []
    handle = model.net.register_forward_hook(lambda *_: calls.append(1))
    try:
        batch = sample_batch(model, [PROMPTS[0]] * 6, settings, range(6))
    finally:
        handle.remove()
    assert batch.forwards == len(calls)
    assert batch.nfe_denoise.tolist() == [15] * 6
    assert batch.nfe_verify.tolist() == [10] * 6
    assert batch.forwards == 25


@pytest.mark.parametrize("use_cache", [True, False])
def test_rows_that_have_ended_leave_the_batch(use_cache: bool) -> None:
    """They cost nothing more, and what the others have cached is theirs still: a row alone writes the same."""
    model = tiny_model("masked", end_id=1, seed=4)
    settings = SamplerSettings(predictor="autoregressive", temperature=1.0, use_cache=use_cache)
    rows: list[int] = []
    handle = model.net.register_forward_hook(lambda _, tokens, __: rows.append(len(tokens[0])))
    try:
        batch = sample_batch(model, [PROMPTS[0]] * 12, settings, range(12))
    finally:
        handle.remove()
    assert rows == sorted(rows, reverse=True)
    assert rows[0] == 12 > rows[-1]
    assert len(set(batch.lengths.tolist())) > 3
    # A sequence writes one token in each call that it is in.
    assert (batch.nfe_denoise == batch.lengths - batch.prompt_lengths).all()
    for row in range(12):
        alone = sample_batch(model, [PROMPTS[0]], settings, [row])
        assert alone.tokens[0].tolist() == batch.tokens[row].tolist()
        assert alone.lengths[0] == batch.lengths[row]


def test_rows_that_do_not_write_do_not_draw() -> None:
    rows = [GeneratorDraws(1), GeneratorDraws(2)]
    draws = RowsDraws(rows, torch.tensor([False, True]))
    numbers = draws.uniform(2, 3)
    assert numbers[0].tolist() == [0, 0, 0]
    assert torch.equal(numbers[1], GeneratorDraws(2).uniform(3))
    assert draws.integers(5, 2, 4)[0].tolist() == [0] * 4
    assert torch.equal(rows[0].uniform(3), GeneratorDraws(1).uniform(3))


def test_progress_goes_up_to_the_canvas() -> None:
    told: list[tuple[int, int]] = []
    settings = SamplerSettings(block_size=4, steps=2)
    sample_batch(tiny_model("masked"), PROMPTS, settings, SEEDS, progress=lambda *now: told.append(now))
    assert told == sorted(told)
    assert told[-1] == (22, 22)


def test_bad_batches_are_refused() -> None:
    model, settings = tiny_model("masked"), SamplerSettings(block_size=4)
    with pytest.raises(ValueError, match="one seed per prompt"):
        sample_batch(model, PROMPTS, settings, [1])
    with pytest.raises(ValueError, match="one seed per prompt"):
        sample_batch(model, [], settings, [])
    with pytest.raises(SettingsError, match="prompt"):
        sample_batch(model, [PROMPTS[0], words(*[1] * 22)], settings, [1, 2])
