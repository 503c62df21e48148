from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from blockviz.training.recipes import Recipe, Stage
from blockviz.training.runfiles import RunError, load_state, save_state

STAGES = (Stage(10, (1.0,), rate_steps=100), Stage(10, (1.0,), rate=0.5))
RECIPE = Recipe("r", "uniform", STAGES, block_sizes=(1,))


def stored(folder: Path, step: int, recipe: Recipe = RECIPE) -> Path:
    save_state(folder, {"weights/a": torch.zeros(1)}, recipe, {"step": step})
    return folder


@pytest.mark.parametrize(
    ("step", "stages"),
    [
        (4, (replace(STAGES[0], steps=30), STAGES[1])),  # longer, at a rate that does not depend on it
        (4, (replace(STAGES[0], steps=4),)),  # ends now
        (4, (STAGES[0], replace(STAGES[1], rate=0.4))),  # not begun
        (10, (STAGES[0], replace(STAGES[1], steps=99))),
        (20, (*STAGES, STAGES[1])),
    ],
)
def test_a_plan_may_change_where_it_has_not_been_run(
    tmp_path: Path, step: int, stages: tuple[Stage, ...]
) -> None:
    _, progress = load_state(stored(tmp_path, step), replace(RECIPE, stages=stages))
    assert progress["step"] == step


@pytest.mark.parametrize(
    ("step", "stages"),
    [
        (4, (replace(STAGES[0], steps=3), STAGES[1])),  # would have ended before
        (4, (replace(STAGES[0], rate=0.9), STAGES[1])),
        (12, (replace(STAGES[0], steps=11), STAGES[1])),
        (12, (STAGES[0], replace(STAGES[1], steps=20))),  # its rate was that of ten steps
        (12, (STAGES[0],)),
    ],
)
def test_what_has_been_run_may_not_change(tmp_path: Path, step: int, stages: tuple[Stage, ...]) -> None:
    with pytest.raises(RunError, match="made with stages = "):
        load_state(stored(tmp_path, step), replace(RECIPE, stages=stages))


def test_a_field_that_came_later_counts_as_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from blockviz.training import runfiles

    def older(recipe: Recipe) -> dict[str, object]:
        content = {**recipe.__dict__, "stages": [dict(stage.__dict__) for stage in recipe.stages]}
        del content["vocabulary"]
        for stage in content["stages"]:
            del stage["practice_steps"]
        return content

    with monkeypatch.context() as patch:
        patch.setattr(runfiles, "asdict", older)
        stored(tmp_path, 4)
    load_state(tmp_path, RECIPE)
    with pytest.raises(RunError, match="made with vocabulary = 2048, not 300"):
        load_state(tmp_path, replace(RECIPE, vocabulary=300))
