"""What a sampler costs, from the page's event to its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockviz.evaluation import cost
from blockviz.evaluation.tasks import BACKWARDS, EXAMPLE_PROMPTS
from blockviz.ui.costing import PLACE, ROUNDS, updates
from blockviz.ui.runner import Runner
from blockviz.views.cost import COLUMNS
from tests.evaluation.math_models import write_checkpoint

FORM = {
    "model": "math-masked",
    "prompt": EXAMPLE_PROMPTS[0].prompt,
    "seed": 3,
    "settings": {"corrector": "ar_nll", "steps": 2, "block_size": 32},
}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    folder: Path = tmp_path_factory.mktemp("models")
    write_checkpoint(folder / "math-masked", "masked")
    return Runner(folder, "cpu")


def answers(runner: Runner, **changes: object) -> list[dict[str, Any]]:
    return [json.loads(text) for text in updates(runner, "tab", {"kind": "rivals", "form": FORM, **changes})]


def test_a_measurement_ends_with_its_table_and_charts(runner: Runner) -> None:
    said = answers(runner)
    end = said[-1]
    assert (end["state"], end["message"]) == ("done", "Measured.")
    runs = 3 * (ROUNDS["rivals"] + 1)
    assert [one["done"] for one in said if one["done"]] == [*range(1, runs + 1), runs]
    assert len({one["n"] for one in said}) == len(said), "equal texts would not reach the page"
    shown = end["shown"]
    assert shown["columns"] == list(COLUMNS)
    assert [row[0] for row in shown["rows"]] == [
        "this sampler: AR-informed corrector (ARPC)",
        "the whole canvas at once",
        "left to right (AR)",
    ]
    assert set(shown["figures"]) == {"light", "dark"}
    assert "title" not in shown["figures"]["light"]["layout"]
    assert shown["guidance"] == []
    assert "math-masked" in shown["method"]
    assert len(runner.signals) == 0


def test_a_grid_ends_with_guidance(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROUNDS, "grid", 1)
    monkeypatch.setattr(cost.cells_of, "__defaults__", ((16,), (1, 2)))
    end = answers(runner, kind="grid")[-1]
    assert [row[0] for row in end["shown"]["rows"]][1:] == [
        *("blocks of 16, 1 step", "blocks of 16, 2 steps", "blocks of 128, 1 step", "blocks of 128, 2 steps"),
    ]
    assert [line.split(":")[0] for line in end["shown"]["guidance"]] == ["Blocks of 16", "Blocks of 128"]


def test_texts_with_gaps_can_be_measured(runner: Runner) -> None:
    form = {
        **FORM,
        "prompt": BACKWARDS.prompt,
        "settings": {"predictor": "confident", "context": "canvas"},
    }
    end = answers(runner, form=form)[-1]
    assert end["state"] == "done"
    assert [row[1] for row in end["shown"]["rows"]] == ["15", "15"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "all"}, "does not exist"),
        ({"kind": None}, "does not exist"),
        ({"form": None}, "reload the page"),
        ({"form": {**FORM, "model": "none"}}, "Choose one of the models"),
        ({"form": {**FORM, "prompt": "zebrafrog"}}, "zebrafrog"),
        ({"form": {**FORM, "settings": {"steps": 0}}}, "steps cannot be 0"),
        (
            {"kind": "grid", "form": {**FORM, "settings": {"predictor": "autoregressive"}}},
            "a sampler with a block",
        ),
    ],
)
def test_what_cannot_be_measured_is_answered_in_words(
    runner: Runner, changes: dict[str, Any], says: str
) -> None:
    end = answers(runner, **changes)[-1]
    assert end["state"] == "error"
    assert says in end["message"]


def test_it_stops_between_two_runs(runner: Runner) -> None:
    said = []
    for text in updates(runner, "tab", {"kind": "rivals", "form": FORM}):
        said.append(json.loads(text))
        if said[-1]["done"] == 2:
            runner.signals.stop("tab", PLACE)
    assert said[-1]["message"].startswith("Stopped")
    assert said[-1]["shown"] is None
    assert max(one["done"] for one in said) == 2
