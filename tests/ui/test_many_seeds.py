"""Many seeds and measured texts, from the page's events to their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockviz.evaluation.tasks import EXAMPLE_PROMPTS
from blockviz.ui.many_seeds import PLACE, updates
from blockviz.ui.measuring import measure
from blockviz.ui.runner import Runner
from tests.evaluation.math_models import write_checkpoint

CONFIG = {"settings": {"corrector": "ar_nll", "steps": 2}}
FORM = {
    "prompt": EXAMPLE_PROMPTS[0].prompt,
    "seed": 3,
    "a": {"model": "math-masked", **CONFIG},
    "b": {"model": "math-uniform", **CONFIG},
}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    folder: Path = tmp_path_factory.mktemp("models")
    for process in ("masked", "uniform"):
        write_checkpoint(folder / f"math-{process}", process)
    return Runner(folder, "cpu")


def answers(runner: Runner, **changes: object) -> list[dict[str, Any]]:
    data = {"count": 10, "scorer": "math-masked", "form": FORM, **changes}
    return [json.loads(text) for text in updates(runner, "tab", data)]


def test_a_study_ends_with_its_table(runner: Runner) -> None:
    said = answers(runner)
    end = said[-1]
    assert (end["state"], end["message"]) == ("done", "Done: 10 seeds.")
    assert [one["done"] for one in said if one["total"]][-2:] == [20, 20]
    assert len({one["n"] for one in said}) == len(said), "equal texts would not reach the page"
    study = end["study"]
    assert study["seeds"] == list(range(3, 13))
    assert study["labels"] == ["A", "B"]
    assert set(study["charts"]) == {"right", "nll", "entropy", "nfe"}
    rows = {row["key"]: row for row in study["rows"]}
    assert rows["right"]["cells"] == ["0 of 10", "0 of 10"]
    assert rows["right"]["name"] == "final answer right"
    assert rows["right"]["differences"][0]["words"] == "cannot tell"
    assert "math-masked" in rows["nll"]["name"]
    assert "[" in rows["nll"]["differences"][0]["text"]
    assert rows["ms"]["differences"][0]["text"] == "one number for all"
    assert "95%" in study["method"]
    assert len(runner.signals) == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"count": 11}, "one of 10"),
        ({"count": 10**9}, "one of 10"),
        ({"count": "10"}, "one of 10"),
        ({"scorer": "../x"}, "Choose one of the models"),
        ({"form": {**FORM, "prompt": "zebrafrog"}}, "zebrafrog"),
        ({"form": {**FORM, "b": {"model": "none", **CONFIG}}}, "Choose one of the models"),
        ({"form": {**FORM, "b": {"model": "math-masked", "settings": {"steps": 0}}}}, "steps cannot be 0"),
        ({"form": None}, "reload the page"),
    ],
)
def test_what_cannot_be_run_is_answered_in_words(
    runner: Runner, changes: dict[str, object], says: str
) -> None:
    end = answers(runner, **changes)[-1]
    assert end["state"] == "error"
    assert says in end["message"]
    assert len(runner.signals) == 0


def test_stop_keeps_what_all_have_finished(runner: Runner) -> None:
    said = []
    for text in updates(runner, "tab", {"count": 50, "scorer": "math-masked", "form": FORM}):
        said.append(json.loads(text))
        if said[-1]["done"] == 30:
            runner.signals.stop("tab", PLACE)
    assert said[-1]["state"] == "done"
    assert said[-1]["message"] == "Stopped: 10 seeds were finished by all runs."
    assert len(said[-1]["study"]["seeds"]) == 10


def test_others_get_turns_while_a_study_goes_on(runner: Runner) -> None:
    for text in updates(runner, "tab", {"count": 10, "scorer": "math-masked", "form": FORM}):
        if json.loads(text)["done"]:
            with runner.turn():
                pass  # would wait for ever if the study kept the device while the page reads


def run(tokens: object, positions: object, **more: object) -> dict[str, object]:
    return {"run": "r", "model": "math-uniform", "tokens": tokens, "positions": positions, **more}


def test_texts_are_read_by_the_model_that_was_named(runner: Runner) -> None:
    runs = [run([1, 2, 3, 4], [2, 3]), {**run([1, 2, 3, 4], [1, 2, 3]), "run": "s"}]
    said = {
        name: json.loads(measure(runner, {"scorer": name, "runs": runs}))
        for name in ("math-masked", "math-uniform")
    }
    assert said["math-masked"]["scorer"] == "math-masked"
    assert set(said["math-masked"]["runs"]) == {"r", "s"}
    values = [said[name]["runs"]["r"]["nll"] for name in said]
    assert all(value > 0 for value in values)
    assert values[0] != values[1]


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (run("text", [1]), "could not be read"),
        (run([1, 2.5], [1]), "could not be read"),
        (run([1, True], [1]), "could not be read"),
        (run([1] * 5000, [1]), "could not be read"),
        (run([1, 2], [5]), "positions"),
        (run([1, 2], [1], model="elsewhere"), "not among those"),
        (run([1, 2], [1], model=["x"]), "not among those"),
    ],
)
def test_a_text_that_cannot_be_read_says_why(runner: Runner, one: dict[str, object], says: str) -> None:
    said = json.loads(measure(runner, {"scorer": "math-masked", "runs": [one]}))
    assert says in said["runs"]["r"]["problem"]


@pytest.mark.parametrize("data", [None, [], {"runs": 3}, {}])
def test_a_foreign_event_is_not_answered(runner: Runner, data: object) -> None:
    assert measure(runner, data) == ""
