from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blockviz.evaluation import model_card
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.block_likelihood import likelihood
from blockviz.evaluation.sweep import Cell, sweep
from blockviz.evaluation.texts import problem_examples
from tests.evaluation.math_models import math_model

TRAINING = {"recipe": "math-masked", "steps": 10, "sequences": 80, "seconds": 60, "parameters": 1234}


def test_the_card_carries_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_card, "BOUND_PROBLEMS", 4)
    monkeypatch.setattr(model_card, "BOUND_DRAWS", 2)
    monkeypatch.setattr(model_card, "SAMPLES", 1)
    model = math_model("masked")
    model = replace(model, info=replace(model.info, training=TRAINING))
    entries = [Cell("ar", None, 0.0), Cell("arpc", 2, 1.0)]
    table = sweep(model, tmp_path / "table.json", problems=4, entries=entries)
    text = model_card.write_card(model, tmp_path, table).read_text(encoding="utf-8")
    figures = likelihood(model, problem_examples(model, 4), draws=2)
    assert f"| B = 1 | {figures.sizes[0].nll:.4f} " in text
    assert f"| mixture, log-sum-exp | {figures.log_sum_exp:.4f} ± " in text
    assert model.content_hash in text
    assert "1,234" in text
    assert "Left to right, temperature 0: 0.0 [0.0," in text
    assert "(right answer: " in text
    assert (
        "`python -m blockviz evaluate tiny-math --table FILE --problems 4 --card`, problem stream 2000003."
        in text
    )


def test_the_command_on_the_card_makes_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_card, "BOUND_PROBLEMS", 4)
    monkeypatch.setattr(model_card, "BOUND_DRAWS", 2)
    monkeypatch.setattr(model_card, "SAMPLES", 1)
    model = math_model("masked")
    model = replace(model, info=replace(model.info, training=TRAINING))
    table = {
        **sweep(model, tmp_path / "table.json", problems=2, entries=[Cell("ar", None, 0.0)]),
        "problems": 500,
        "problem_seed": 7,
        "seed": 3,
        "block_size": 8,
    }
    text = model_card.write_card(model, tmp_path, table).read_text(encoding="utf-8")
    flags = "--table FILE --problem-seed 7 --seed 3 --block-size 8 --card"
    assert f"`python -m blockviz evaluate tiny-math {flags}`, problem stream 7." in text


def test_a_model_of_another_origin_has_no_card(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="not trained by a recipe"):
        model_card.write_card(math_model("masked"), tmp_path, {"rows": []})
