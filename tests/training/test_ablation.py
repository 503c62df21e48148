from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from blockviz.training import ablation, loop
from blockviz.training.ablation import BASELINE, SHOWN, VARIANTS, interval, main, markdown, recipe_of
from blockviz.training.recipes import FINAL_RATE


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_has_the_same_budget(name: str) -> None:
    recipe, plain = (recipe_of(VARIANTS[key], "uniform", 200, 1) for key in (name, BASELINE))
    assert recipe.steps == plain.steps == 200
    assert (recipe.batch, recipe.seed, recipe.hidden_size) == (plain.batch, plain.seed, plain.hidden_size)
    last, offset = recipe.stage_at(199)
    assert last.rate_factor(offset) == pytest.approx(FINAL_RATE, abs=1e-3)
    # Through both stages of the overlay there is one practice share and no jump of the rate.
    for step in range(199):
        shares = [
            stage.practice_share(offset) for stage, offset in (recipe.stage_at(step), plain.stage_at(step))
        ]
        assert shares[0] == pytest.approx(shares[1])
        if step >= 50:
            (now, at), (then, after) = recipe.stage_at(step), recipe.stage_at(step + 1)
            assert abs(now.rate_factor(at) - then.rate_factor(after)) < 0.02


def test_the_command_trains_measures_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = recipe_of
    monkeypatch.setattr(
        ablation, "recipe_of", lambda *given: replace(whole(*given), hidden_size=16, n_blocks=1, batch=4)
    )
    for name, value in (("PROBLEMS", 2), ("DRAWS", 1)):
        monkeypatch.setattr(ablation, name, value)
    for plot in ("plot_losses", "plot_noise"):
        monkeypatch.setattr(loop, plot, lambda folder: folder)
    arguments = ["--steps", "8", "--seeds", "1", "--out", str(tmp_path), "--variants", "overlay"]
    assert main(arguments) == 0
    first = json.loads((tmp_path / "uniform.json").read_text())
    assert set(first["figures"]) == {BASELINE, "overlay"}
    for runs in first["figures"].values():
        assert all(math.isfinite(runs["0"][key]) and runs["0"][key] > 0 for key in SHOWN)
    assert main(["--seeds", "2", *arguments[:2], *arguments[4:]]) == 0
    second = json.loads((tmp_path / "uniform.json").read_text())
    for name, runs in second["figures"].items():
        assert runs["0"] == first["figures"][name]["0"]
        assert runs["1"] != runs["0"]
    assert "| overlay | 2 |" in capsys.readouterr().out
    assert main(["--steps", "9", *arguments[2:]]) == 2
    assert "holds runs of 8 steps" in capsys.readouterr().err


def test_differences_are_paired_by_seed() -> None:
    base = {str(seed): dict.fromkeys(SHOWN, 1.0 + seed) for seed in range(3)}
    other = {str(seed): dict.fromkeys(SHOWN, 1.5 + seed) for seed in range(3)}
    text = markdown({"figures": {BASELINE: base, "elbo": other}})
    assert "| **mixture** | 3 | 2.000 ± 2.484 |" in text
    assert "| elbo | 3 | +0.500 ± 0.000 |" in text


def test_the_interval_is_students() -> None:
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert math.isnan(interval([1.0])[1])
