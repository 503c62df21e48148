from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from blockviz.training import ablation, loop
from blockviz.training.ablation import BASELINE, SHOWN, VARIANTS, main, recipe_of
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
    for name, value in (("PROBLEMS", 2), ("DRAWS", 2)):
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
    # A run that has ended is measured again, not made again.
    made = (tmp_path / "uniform" / "mixture-0" / "state.safetensors").stat().st_mtime_ns
    second["figures"][BASELINE]["0"].pop("mixture bound")
    (tmp_path / "uniform.json").write_text(json.dumps(second))
    assert main(arguments) == 0
    assert json.loads((tmp_path / "uniform.json").read_text())["figures"][BASELINE]["0"] == pytest.approx(
        first["figures"][BASELINE]["0"]
    )
    assert (tmp_path / "uniform" / "mixture-0" / "state.safetensors").stat().st_mtime_ns == made
    report = tmp_path / "ABLATIONS.md"
    capsys.readouterr()
    assert main(["--report", str(report), "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{report}\n"
    text = report.read_text()
    assert "## Uniform noise, 8 steps" in text
    assert "| overlay | 2 |" in text
    assert "--process uniform --steps 8 --seeds 2`" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "here is no file"),
        ("{", "holds no results"),
        ('{"process": "uniform", "steps": 8, "figures": {"other": {}}}', "holds no results"),
        ('{"process": "pink", "steps": 8, "figures": {}}', "holds no results"),
        ('{"process": "uniform", "steps": 8, "figures": {}}', "lacks figures"),
        (
            '{"process": "uniform", "steps": 8, "figures": {"mixture": {"0": {"B = 1": 1.0}}}}',
            "lacks figures",
        ),
    ],
)
def test_what_is_no_result_file_is_said(
    content: str | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    if content is not None:
        path.write_text(content)
    assert main(["--report", str(tmp_path / "report.md"), "--results", str(path)]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "report.md").exists()


def test_two_files_of_one_process_are_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = dict.fromkeys(SHOWN, 1.0)
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"process": "masked", "steps": 8, "figures": {BASELINE: {"0": run}}}))
    assert main(["--report", str(tmp_path / "report.md"), "--results", str(path), str(path)]) == 2
    assert "same noise process" in capsys.readouterr().err
    assert main(["--results", str(path), str(path)]) == 2
    assert "one with --results" in capsys.readouterr().err
    assert main(["--report", str(tmp_path / "report.md"), "--out", str(tmp_path / "none")]) == 2
    assert "no results" in capsys.readouterr().err
