"""Cards of models of stories: made by one command, for masked and uniform noise and for the judge itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from blockviz.evaluation import story_card
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.block_likelihood import likelihood
from blockviz.evaluation.quality import quality
from blockviz.evaluation.tables import quality_markdown
from blockviz.evaluation.texts import beginnings, text_examples
from blockviz.models.checkpoint import Model, load
from tests.commands import call
from tests.evaluation.math_models import math_model
from tests.evaluation.story_models import history, story_file, story_model


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return story_file(tmp_path)


@pytest.fixture
def judge(tmp_path: Path) -> Model:
    return story_model(tmp_path, "stories-ar", "uniform", seed=2, sizes=(1,))


def model_of(folder: Path, process: Literal["masked", "uniform"] = "masked") -> Model:
    recipes = ("stories-base", "stories-base-2", f"stories-{process}")
    return story_model(folder, f"stories-{process}", process, recipes=recipes)


def command(name: str, folder: Path, text: Path) -> tuple[str | int | Path, ...]:
    flags = ("--likelihood", "--text", text, "--problems", 3, "--draws", 2, "--card")
    return ("evaluate", name, "--folder", folder, "--device", "cpu", *flags)


@pytest.mark.slow
@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_one_command_makes_the_whole_card(
    process: Literal["masked", "uniform"],
    judge: Model,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(story_card, "SAMPLES", 2)
    name = model_of(tmp_path, process).name
    code, out, _ = call(capsys, *command(name, tmp_path, text), "--judge", "stories-ar", "--samples", 5)
    assert code == 0
    card = (tmp_path / name / "README.md").read_text(encoding="utf-8")
    model = load(tmp_path / name, "cpu")
    figures = likelihood(model, text_examples(model, text, 3), draws=2)
    assert f"| B = 1 | {figures.sizes[0].nll:.4f} " in card
    assert f"| mixture, log-sum-exp | {figures.log_sum_exp:.4f} ± {figures.log_sum_exp_error:.4f} |" in card
    assert "| mixture, Jensen |" in card
    texts = quality(model, judge, beginnings=beginnings(model, text, 5), source=text)
    for written in (card, out):
        assert quality_markdown(name, texts).strip() in written
    kept = json.loads((tmp_path / name / "quality.json").read_text(encoding="utf-8"))
    assert [row["nll"]["value"] for row in kept["rows"]] == [row.nll.value for row in texts.rows]
    samples = re.findall(r"^[12]\. Once upon a time ?\*\*.*\*\*$", card, re.MULTILINE)
    assert len(samples) == 2 * (len(story_card.SHOWN) - (process == "uniform"))
    # Data, its licence, recipe, command, figures, limits.
    for said in ("## Data", "TinyStories", "CDLA-Sharing-1.0", "license: apache-2.0", "## Limits"):
        assert said in card
    assert "The weights start from `python -m blockviz train stories-base --text FILE`" in card
    assert "The weights went on with `python -m blockviz train stories-base-2 --text FILE`" in card
    assert ("holds for the other" in card) == (process == "masked")
    assert f"`python -m blockviz train {name} --text FILE`: 300 optimiser steps of 192 sequences" in card
    assert "(57,600 in all), 2 minutes on one GPU" in card
    assert f"| block sizes and weights, {name}, 300 steps | 1: 0.25, 16: 0.75 |" in card
    assert "15% of the rows in larger blocks have a seam" in card
    assert (
        f"`python -m blockviz evaluate {name} --likelihood --text FILE --problems 3 --draws 2 --judge stories-ar "
        "--samples 5 --card` (FILE: the text it was trained on, of which only what training holds out is read)."
    ) in card
    assert "a canvas long, of held-out stories;" in card


def test_the_card_names_every_flag_its_figures_depend_on(
    judge: Model,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(story_card, "SAMPLES", 1)
    name = model_of(tmp_path).name
    asked = ("--judge", "stories-ar", "--samples", 5, "--seed", 3, "--block-size", 8, "--all-texts")
    assert call(capsys, *command(name, tmp_path, text), *asked)[0] == 0
    card = (tmp_path / name / "README.md").read_text(encoding="utf-8")
    assert (
        f"`python -m blockviz evaluate {name} --likelihood --text FILE --all-texts --problems 3 --draws 2 --judge "
        "stories-ar --samples 5 --seed 3 --block-size 8 --card` (FILE: a text that it was not trained on, all of which "
        "is read)."
    ) in card
    assert "a canvas long, of a file of stories;" in card
    assert "block size 8, canvas 48 tokens, seeds 3 to 7" in card


def test_the_judge_has_a_card_of_its_own(
    judge: Model, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(capsys, *command("stories-ar", tmp_path, text))[0] == 0
    card = (tmp_path / "stories-ar" / "README.md").read_text(encoding="utf-8")
    assert "An autoregressive language model that writes little stories" in card
    assert re.search(
        r"^\| B = 1 \| \d+\.\d{4} ± \d\.\d{4} \| \d+\.\d{3} \| exact for the noise drawn \|$",
        card,
        re.MULTILINE,
    )
    assert len(re.findall(r"^\d+\. Once upon a time ?\*\*.*\*\*$", card, re.MULTILINE)) == 20
    assert "### Left to right (AR), temperature 0.8" in card
    for strange in (
        "mixture",
        "ARPC",
        "Quality of sampled",
        "--judge",
        "noise schedule",
        "steps a block",
    ):
        assert strange not in card, strange
    assert "As a judge it is as good as its own stories" in card


def test_markdown_in_a_story_stays_text() -> None:
    assert story_card._plain("a *b*\n<c> [d](e) `f`") == r"a \*b\* \<c\> \[d\]\(e\) \`f\`"


def test_a_model_of_another_kind_has_no_such_card(text: Path, tmp_path: Path) -> None:
    model = model_of(tmp_path)
    figures = likelihood(model, text_examples(model, text, 2), draws=2)
    math = math_model("masked")
    with pytest.raises(EvaluationError, match="not trained by a recipe"):
        story_card.write_story_card(math, tmp_path, figures, None)
    named = replace(math, info=replace(math.info, training=history("math-masked")))
    with pytest.raises(EvaluationError, match="writes no stories"):
        story_card.write_story_card(named, tmp_path, figures, None)
    with pytest.raises(EvaluationError, match="needs a judge"):
        story_card.write_story_card(model, tmp_path, figures, None)


def test_what_a_card_of_stories_needs_is_said_before_anything_is_measured(
    judge: Model, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = command(model_of(tmp_path).name, tmp_path, text)
    without_text = [part for part in start if part not in ("--text", text)]
    code, _, err = call(capsys, *without_text)
    assert (code, "--likelihood --text FILE" in err) == (2, True)
    code, _, err = call(capsys, *start)
    assert (code, "needs a judge of its samples" in err) == (2, True)
    code, _, err = call(capsys, *command("stories-ar", tmp_path, text), "--judge", "stories-ar")
    assert (code, "cannot be its own judge" in err) == (2, True)
    assert not (tmp_path / "stories-masked" / "README.md").exists()
