from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from blockviz.evaluation import seams
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.likelihood import ar_nll, token_nll
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.settings import SamplerSettings, from_preset
from tests.sampling.small_models import tiny_model, words

PROMPTS = [words(1, 2, 3), words(4), words(1, 2, 3, 4, 5, 6), words(2)]
SETTINGS = from_preset("ancestral", block_size=4, steps=2, overlap=2, seam_width=1)


def test_all_samplers_share_one_grid_of_blocks() -> None:
    found = seams.variants(SETTINGS)
    assert list(found) == ["none", "steps", "overlap", "renoise", "ar"]
    assert found["overlap"].block_size - found["overlap"].overlap == found["none"].block_size == 4
    assert found["steps"].steps == 4
    assert "steps" not in seams.variants(from_preset("threshold", block_size=4))
    for settings in (from_preset("ar"), SamplerSettings(context="canvas")):
        with pytest.raises(EvaluationError, match="no seams to measure"):
            seams.variants(settings)


def test_token_nll_adds_up_to_the_sequence() -> None:
    model = tiny_model("uniform")
    result = sample_batch(model, PROMPTS, SETTINGS, range(4))
    arguments = (model, result.tokens, result.prompt_lengths, result.lengths, range(4))
    each = token_nll(*arguments)
    assert np.nansum(each, axis=1) == pytest.approx(ar_nll(*arguments))
    for row, (start, stop) in enumerate(zip(result.prompt_lengths, result.lengths, strict=True)):
        assert np.isnan(each[row]).tolist() == [not start <= place < stop for place in range(22)]


def test_curves_are_means_over_places_worked_out_again_by_hand() -> None:
    model = tiny_model("masked", length=24)  # the last block is whole, and nothing follows it
    told: list[tuple[str, float]] = []
    curves = seams.measure(
        model, SETTINGS, PROMPTS, batch_size=3, progress=lambda name, done: told.append((name, done))
    )
    assert [curve.name for curve in curves] == ["none", "steps", "overlap", "renoise", "ar"]
    assert told[:2] == [("none", 3), ("none", 1)]
    result = sample_batch(model, PROMPTS, replace(SETTINGS, seams="none"), range(4))
    each = token_nll(model, result.tokens, result.prompt_lengths, result.lengths, range(4))
    curve = curves[0]
    near, far = [], []
    gaps = []
    for row, start in enumerate(result.prompt_lengths):
        mine: tuple[list[float], list[float]] = ([], [])
        for place in range(int(start), 24):
            after = place % 4 == 0 and place > start
            before = place % 4 == 3 and place < 23
            mine[0 if after or before else 1].append(float(each[row, place]))
        near += mine[0]
        far += mine[1]
        gaps.append(np.mean(mine[0]) - np.mean(mine[1]))
    assert curve.boundary == pytest.approx(np.mean(near))
    assert curve.interior == pytest.approx(np.mean(far))
    assert curve.gap == pytest.approx(np.mean(gaps))
    assert curve.gap_error == pytest.approx(1.96 * np.std(gaps, ddof=1) / 2, rel=1e-3)
    assert curve.tokens == 4 * 24 - 11
    assert curve.nfe_per_token == pytest.approx(result.nfe_denoise.sum() / curve.tokens)
    rows = [np.nanmean(each[row, np.arange(24) % 4 == 2]) for row in range(4)]
    assert curve.offsets[2] == pytest.approx(np.mean(rows))
    assert curves[3].nfe_per_token > curve.nfe_per_token


def test_a_boundary_has_a_generated_token_on_either_side() -> None:
    places = np.tile(np.arange(12) % 4, (4, 1))
    begins, stops = np.array([0, 4, 5, 2]), np.array([8, 9, 12, 4])
    near = seams._near_a_boundary(places, begins, stops, 4, 1)
    generated = (np.arange(12) >= begins[:, None]) & (np.arange(12) < stops[:, None])
    assert [np.flatnonzero(row).tolist() for row in near & generated] == [[3, 4], [7, 8], [7, 8], []]


def test_texts_without_a_second_block_have_no_seams() -> None:
    with pytest.raises(EvaluationError, match="take smaller blocks"):
        seams.measure(
            tiny_model("masked"), replace(SETTINGS, block_size=16, overlap=1, length=22), [words(*[1] * 17)]
        )
    with pytest.raises(EvaluationError, match="no prompt"):
        seams.measure(tiny_model("masked"), SETTINGS, [])


def test_a_report_is_json_without_nan() -> None:
    model = tiny_model("masked")
    report = seams.report(model, SETTINGS, seams.measure(model, SETTINGS, PROMPTS))
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["curves"][0]["settings"]["block_size"] == 4
    assert seams._plain(math.nan) is None


def test_one_run_alone_gives_no_interval_and_blocks_of_one_no_inside() -> None:
    model = tiny_model("masked")
    with pytest.raises(EvaluationError, match="Fewer than two runs"):
        seams.measure(model, SETTINGS, PROMPTS[:1])
    with pytest.raises(EvaluationError, match="take larger blocks"):
        seams.measure(model, replace(SETTINGS, block_size=2, overlap=1, seam_width=2), PROMPTS)
